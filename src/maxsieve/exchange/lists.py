"""Arrow arrays of lists as NumPy arrays end to end, without copying the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import FloatArray
from maxsieve.common.optional import optional
from maxsieve.exchange.columns import is_list
from maxsieve.ids import Id, to_ids


def ids_of(array: Any, first: int) -> list[Id]:
    """Ids; ``first`` is the row of the file in which the first one stands.

    >>> import pyarrow as pa
    >>> ids_of(pa.array(["a", "b"]), 0)
    ['a', 'b']
    """
    if optional("pyarrow.types", "arrow").is_dictionary(array.type):
        array = array.dictionary_decode()
    _refuse_nulls(array, lambda i: first + i, "the id")
    return to_ids(array.to_pylist(), "ids")


def vectors_of(array: Any, dim: int | None, first: int) -> tuple[FloatArray | None, NDArray[np.int64]]:
    """Rows [tokens, d] and lengths; ``first`` is the row of the file in which the first document stands.

    None instead of the rows if there is no token and the dimension is not known.

    >>> import pyarrow as pa
    >>> rows, lengths = vectors_of(pa.array([[[1.0, 2.0]], [], [[3.0, 4.0], [5.0, 6.0]]]), None, 0)
    >>> rows.shape, lengths.tolist()
    ((3, 2), [1, 0, 2])
    """
    lengths, tokens = _opened(array, lambda i: first + i, "the document")
    ends = np.cumsum(lengths)

    def row_of(token: int) -> int:
        return first + int(np.searchsorted(ends, token, side="right"))

    if not is_list(tokens.type):  # numbers end to end, for which the dimension was given
        size = dim or 1
        if (ragged := np.flatnonzero(lengths % size)).size:
            row = int(ragged[0])
            raise ValueError(f"row {first + row} has {lengths[row]} numbers: no vectors of {size} dimensions")
        return _numbers(tokens, row_of).reshape(-1, size), lengths // size
    sizes, numbers = _opened(tokens, row_of, "a vector")
    if dim is None:
        if not len(sizes):
            return None, lengths
        dim = int(sizes[0])
    if (ragged := np.flatnonzero(sizes != dim)).size:
        token = int(ragged[0])
        raise ValueError(f"row {row_of(token)} has a vector of {sizes[token]} numbers; {dim} are expected")
    # max: a dimension of 0 is refused by whoever takes the rows, with its own words
    return _numbers(numbers, lambda i: row_of(i // max(dim, 1))).reshape(len(sizes), dim), lengths


def _opened(array: Any, row_of: Callable[[int], int], what: str) -> tuple[NDArray[np.int64], Any]:
    """How many elements each list has, and the elements of all of them."""
    while hasattr(array, "storage"):
        array = array.storage
    _refuse_nulls(array, row_of, what)
    if optional("pyarrow.types", "arrow").is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size, np.int64), array.flatten()
    offsets = array.offsets.to_numpy().astype(np.int64)
    begin, end = int(offsets[0]), int(offsets[-1])
    return np.diff(offsets), array.values.slice(begin, end - begin)


def _numbers(array: Any, row_of: Callable[[int], int]) -> NDArray[Any]:
    _refuse_nulls(array, row_of, "a number")
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return numbers


def _refuse_nulls(array: Any, row_of: Callable[[int], int], what: str) -> None:
    if array.null_count:
        at = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"row {row_of(at)}: {what} is null")

"""Finds the columns of token vectors and ids in an Arrow table, and converts them to NumPy arrays without copying.

Vectors, one row per document: list<fixed_size_list<float>[d]>, list<list<float>>, or list<float> with the dimension
given. Lists may be large, of fixed size, or views (copied if they are not in order); numbers have 16, 32 or 64 bits.
Nothing may be null: a document without tokens is an empty list. Ids: str or int.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import FloatArray
from maxsieve.common.optional import optional
from maxsieve.ids import Id, to_ids

VECTORS, ID = "vectors", "id"
"""The names of the columns that are written."""

MetadataColumns: TypeAlias = Sequence[str] | Literal["all"] | None
"""Columns that become metadata: a list of names, ``"all"`` columns except vectors and ids, or None."""


class TableColumns(NamedTuple):
    """The columns of vectors and of ids (None if there are none), the type of numbers, the dimension if it is known.

    The columns ``metadata`` become one record per document.
    """

    vectors: str
    id: str | None
    dtype: np.dtype[Any]
    dim: int | None
    metadata: tuple[str, ...] = ()


def choose_columns(schema: Any, column: str | None, id_column: str | None, dim: int | None) -> TableColumns:
    """The columns named, or else ``vectors`` or the only list column, and ``id`` if there is one.

    >>> import pyarrow as pa
    >>> choose_columns(pa.schema({"id": pa.string(), "emb": pa.list_(pa.list_(pa.float32(), 128))}), None, None, None)
    TableColumns(vectors='emb', id='id', dtype=dtype('float32'), dim=128, metadata=())
    """
    names = schema.names
    listed = ", ".join(map(repr, names)) or "none"
    if column is None:
        lists = [name for name in names if names.count(name) == 1 and is_list(schema.field(name).type)]
        column = VECTORS if VECTORS in names else lists[0] if len(lists) == 1 else None
        if column is None:
            raise ValueError(f"which column holds the vectors? Give column=, one of {listed}")
    if id_column is None and ID in names:
        id_column = ID
    for name in (column, id_column):
        if name is not None and names.count(name) != 1:
            raise ValueError(f"there must be one column {name!r}, not {names.count(name)}; the columns are {listed}")
    return TableColumns(column, id_column, *_numbers(column, schema.field(column).type, dim))


def choose_metadata(schema: Any, columns: TableColumns, wanted: MetadataColumns) -> tuple[str, ...]:
    """The columns of metadata, each of a JSON-compatible type.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"emb": pa.list_(pa.list_(pa.float32(), 128)), "title": pa.string(), "year": pa.int16()})
    >>> choose_metadata(schema, choose_columns(schema, "emb", None, None), "all")
    ('title', 'year')
    """
    names = schema.names
    others = tuple(name for name in names if name not in (columns.vectors, columns.id))
    if isinstance(wanted, str) and wanted != "all":
        raise TypeError(f"metadata_columns must be a list of names, or 'all', not {wanted!r}")
    chosen = others if wanted == "all" else tuple(wanted or ())
    for name in chosen:
        if names.count(name) != 1:
            raise ValueError(f"there must be one column {name!r}, not {names.count(name)}, for metadata")
        if not _fits_json(kind := schema.field(name).type):
            raise TypeError(
                f"column {name!r} is {kind}, which JSON can't represent: leave it out of metadata_columns, or cast it"
            )
    return chosen


def _fits_json(kind: Any) -> bool:
    types = optional("pyarrow.types", "arrow")
    kind = storage(kind)
    if is_list(kind) or types.is_dictionary(kind):
        return _fits_json(kind.value_type)
    if types.is_struct(kind):
        return all(_fits_json(kind.field(i).type) for i in range(kind.num_fields))
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating)
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_it(kind) for is_it in (*plain, *texts))


def is_list(kind: Any) -> bool:
    """Whether it is a list type: of any length, large, of fixed size, or a view."""
    types = optional("pyarrow.types", "arrow")
    kind = storage(kind)
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or _is_list_view(kind)
    )


def _is_list_view(kind: Any) -> bool:
    types = optional("pyarrow.types", "arrow")
    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def storage(kind: Any) -> Any:
    """The storage type of an extension type (such as a tensor type)."""
    return storage(kind.storage_type) if hasattr(kind, "storage_type") else kind


def _numbers(column: str, kind: Any, dim: int | None) -> tuple[np.dtype[Any], int | None]:
    """The type of numbers in a column of vectors, and the dimension."""
    types = optional("pyarrow.types", "arrow")
    outer = storage(kind)
    inner = storage(outer.value_type) if is_list(outer) else outer
    number = storage(inner.value_type) if is_list(inner) else inner
    if not is_list(outer) or not types.is_floating(number):
        raise ValueError(
            f"column {column!r} is {kind}; list<fixed_size_list<float>[d]> or list<list<float>> is expected"
        )
    if not is_list(inner) and dim is None:
        raise ValueError(
            f"column {column!r} is {kind}, with all vectors concatenated: give dim=, the dimension of a vector"
        )
    if types.is_fixed_size_list(inner):
        if dim not in (None, inner.list_size):
            raise ValueError(f"column {column!r} has vectors of {inner.list_size} dimensions; {dim} are expected")
        dim = int(inner.list_size)
    return np.dtype(number.to_pandas_dtype()), dim


def ids_of(array: Any, first: int) -> list[Id]:
    """Ids; ``first`` is the row number of the first one in the file.

    >>> import pyarrow as pa
    >>> ids_of(pa.array(["a", "b"]), 0)
    ['a', 'b']
    """
    if optional("pyarrow.types", "arrow").is_dictionary(array.type):
        array = array.dictionary_decode()
    _refuse_nulls(array, lambda i: first + i, "the id")
    return to_ids(array.to_pylist(), "ids")


def vectors_of(array: Any, dim: int | None, first: int) -> tuple[FloatArray | None, NDArray[np.int64]]:
    """Rows [tokens, d] and lengths; ``first`` is the row number of the first document in the file.

    The rows are None if there is no token and the dimension is not known.

    >>> import pyarrow as pa
    >>> rows, lengths = vectors_of(pa.array([[[1.0, 2.0]], [], [[3.0, 4.0], [5.0, 6.0]]]), None, 0)
    >>> rows.shape, lengths.tolist()
    ((3, 2), [1, 0, 2])
    """
    lengths, tokens = _opened(array, lambda i: first + i, "the document")
    ends = np.cumsum(lengths)

    def row_of(token: int) -> int:
        return first + int(np.searchsorted(ends, token, side="right"))

    if not is_list(tokens.type):  # concatenated vectors, for which the dimension was given
        size = dim or 1
        if (ragged := np.flatnonzero(lengths % size)).size:
            row = int(ragged[0])
            raise ValueError(
                f"row {first + row} has {lengths[row]} numbers, which is not a multiple of {size} dimensions"
            )
        return _plain(tokens, row_of).reshape(-1, size), lengths // size
    sizes, numbers = _opened(tokens, row_of, "a vector")
    if dim is None:
        if not len(sizes):
            return None, lengths
        dim = int(sizes[0])
    if (ragged := np.flatnonzero(sizes != dim)).size:
        token = int(ragged[0])
        raise ValueError(f"row {row_of(token)} has a vector of {sizes[token]} numbers; {dim} are expected")
    # max: a dimension of 0 is refused later, by the user of the rows
    return _plain(numbers, lambda i: row_of(i // max(dim, 1))).reshape(len(sizes), dim), lengths


def _opened(array: Any, row_of: Callable[[int], int], what: str) -> tuple[NDArray[np.int64], Any]:
    """The length of each list, and the elements of all lists."""
    while hasattr(array, "storage"):
        array = array.storage
    _refuse_nulls(array, row_of, what)
    if optional("pyarrow.types", "arrow").is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size, np.int64), array.flatten()
    if _is_list_view(array.type):
        return _viewed(array)
    offsets = array.offsets.to_numpy().astype(np.int64)
    begin, end = int(offsets[0]), int(offsets[-1])
    return np.diff(offsets), array.values.slice(begin, end - begin)


def _viewed(array: Any) -> tuple[NDArray[np.int64], Any]:
    """The same for list views, which may have gaps and any order."""
    sizes = array.sizes.to_numpy().astype(np.int64)
    if (total := int(sizes.sum())) > len(array.values):  # a few bytes could expand to any amount of memory
        raise ValueError(f"lists overlap: they have {total} elements in total, but there are only {len(array.values)}")
    begins, ends = array.offsets.to_numpy()[sizes > 0], (array.offsets.to_numpy() + sizes)[sizes > 0]
    if (begins[1:] == ends[:-1]).all():
        return sizes, array.values.slice(int(begins[0]) if total else 0, total)
    return sizes, array.flatten()


def _plain(array: Any, row_of: Callable[[int], int]) -> NDArray[Any]:
    _refuse_nulls(array, row_of, "a number")
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return numbers


def _refuse_nulls(array: Any, row_of: Callable[[int], int], what: str) -> None:
    if array.null_count:
        at = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"row {row_of(at)}: {what} is null; leave such rows out")

"""Which columns of an Arrow table hold token vectors and ids.

Vectors, one row for each document: list<fixed_size_list<float>[d]>, list<list<float>>, or list<float> with the
dimension given. Lists may be large or of fixed size, numbers of 16, 32 or 64 bits. Ids: str or int.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxsieve.common.optional import optional

VECTORS, ID = "vectors", "id"
"""The names under which they are written."""


class Columns(NamedTuple):
    """The columns of vectors and of ids (None: there are none), the type of numbers, the dimension if it is known."""

    vectors: str
    id: str | None
    dtype: np.dtype[Any]
    dim: int | None


def choose_columns(schema: Any, column: str | None, id_column: str | None, dim: int | None) -> Columns:
    """The columns named, or else ``vectors`` or the only list column, and ``id`` if there is one.

    >>> import pyarrow as pa
    >>> choose_columns(pa.schema({"id": pa.string(), "emb": pa.list_(pa.list_(pa.float32(), 128))}), None, None, None)
    Columns(vectors='emb', id='id', dtype=dtype('float32'), dim=128)
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
            raise ValueError(f"there is not one column {name!r} but {names.count(name)}; the columns are {listed}")
    return Columns(column, id_column, *_numbers(column, schema.field(column).type, dim))


def is_list(kind: Any) -> bool:
    """True for lists of any length, large ones, and those of a fixed size."""
    types = optional("pyarrow.types", "arrow")
    kind = storage(kind)
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def storage(kind: Any) -> Any:
    """What an extension type (a tensor type, say) is made of."""
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
        raise ValueError(f"column {column!r} is {kind}, vectors end to end: give dim=, the numbers in a vector")
    if types.is_fixed_size_list(inner):
        if dim not in (None, inner.list_size):
            raise ValueError(f"column {column!r} has vectors of {inner.list_size} dimensions; {dim} are expected")
        dim = int(inner.list_size)
    return np.dtype(number.to_pandas_dtype()), dim

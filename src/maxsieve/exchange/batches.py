"""Converts record batches of Arrow to chunks of token vectors, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import FloatArray
from maxsieve.common.files import PathLike
from maxsieve.common.optional import optional
from maxsieve.exchange.columns import ID, VECTORS, TableColumns, ids_of, vectors_of
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.sidecars import given_ids
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.exchange.write_source import WriteSource
from maxsieve.ids import Id


def damaged() -> tuple[type[Exception], ...]:
    """What pyarrow raises for a bad file."""
    pa = optional("pyarrow", "arrow")
    return (pa.ArrowException, OSError)


def stream_columns(
    path: PathLike, columns: TableColumns, ids: Any, batches: Callable[[str], Iterator[Any]]
) -> TokenVectorChunks:
    """The documents of a file, one chunk per batch. Ids that are not given are read first.

    ``batches`` starts from the beginning; its batches have at least the requested column.
    """
    known = given_ids(ids)
    if known is None and columns.id is not None:
        known = []
        with naming_content_errors(path, *damaged()):
            for batch in batches(columns.id):
                batch.validate(full=True)
                known += ids_of(batch.column(columns.id), len(known))
    unnamed = columns._replace(id=None)

    def pieces() -> Iterator[TokenVectors]:
        with naming_content_errors(path, *damaged()):
            yield from pieces_of(batches(columns.vectors), unnamed)

    return TokenVectorChunks(pieces, known, os.fspath(path))


def pieces_of(batches: Iterable[Any], columns: TableColumns) -> Iterator[TokenVectors]:
    """One chunk per batch, at least one, with the ids and the metadata of these columns.

    If the type does not say the dimension, leading documents without tokens are held back until one has tokens.
    """
    dim, first = columns.dim, 0
    waiting = _WaitingRows(columns)
    for batch in batches:
        batch.validate(
            full=True
        )  # offsets of a hostile file may point anywhere; the check takes a fraction of a millisecond
        rows, lengths = vectors_of(batch.column(columns.vectors), dim, first)
        waiting.add(lengths, batch, first)
        first += len(lengths)
        if rows is not None:
            dim = rows.shape[1]
            yield waiting.with_rows(rows)
            waiting = _WaitingRows(columns)
    if dim is None:
        raise ValueError("no document has a token, so the dimension is unknown: give dim=")
    if first == 0 or waiting.lengths:
        yield waiting.with_rows(np.empty((0, dim), columns.dtype))


class _WaitingRows:
    """Documents whose rows are not known yet."""

    def __init__(self, columns: TableColumns) -> None:
        self._columns = columns
        self.lengths: list[NDArray[np.int64]] = []
        self._ids: list[Id] = []
        self._records: list[Any] = []

    def add(self, lengths: NDArray[np.int64], batch: Any, first: int) -> None:
        self.lengths.append(lengths)
        if self._columns.id is not None:
            self._ids += ids_of(batch.column(self._columns.id), first)
        if self._columns.metadata:
            self._records += batch.select(list(self._columns.metadata)).to_pylist()

    def with_rows(self, rows: FloatArray) -> TokenVectors:
        lengths = np.concatenate([np.zeros(0, np.int64), *self.lengths])
        ids = None if self._columns.id is None else self._ids
        return TokenVectors(rows, lengths, ids, self._records if self._columns.metadata else None)


def to_batch(vectors: TokenVectors) -> Any:
    """A record batch of at most 2**31 - 1 tokens; the numbers are not copied if they are contiguous.

    >>> to_batch(TokenVectors(np.eye(2, dtype=np.float32), [2], ["a"])).to_pylist()
    [{'id': 'a', 'vectors': [[1.0, 0.0], [0.0, 1.0]]}]
    """
    pa = optional("pyarrow", "arrow")
    offsets = np.zeros(len(vectors) + 1, np.int32)
    np.cumsum(vectors.lengths, out=offsets[1:])
    numbers = pa.array(np.ascontiguousarray(vectors.rows).reshape(-1))
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.FixedSizeListArray.from_arrays(numbers, vectors.dim))
    if vectors.ids is None:
        return pa.record_batch([lists], names=[VECTORS])
    try:
        ids = pa.array(vectors.ids, _id_type(vectors.ids))
    except UnicodeEncodeError as problem:
        raise ValueError(f"id {problem.object!r} is not valid Unicode, which Arrow requires") from None
    return pa.record_batch([ids, lists], names=[ID, VECTORS])


def schema_of(source: WriteSource) -> Any:
    """The schema of the batches of `to_batch`."""
    pa = optional("pyarrow", "arrow")
    numbers = {"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()}
    if source.dtype.name not in numbers:
        raise ValueError(f"Arrow has no {source.dtype.name}: write .safetensors, or the rows as float32")
    lists = pa.field(VECTORS, pa.list_(pa.list_(numbers[source.dtype.name], source.dim)))
    return pa.schema([lists] if source.ids is None else [pa.field(ID, _id_type(source.ids)), lists])


def _id_type(ids: list[Id]) -> Any:
    pa = optional("pyarrow", "arrow")
    return pa.int64() if ids and isinstance(ids[0], int) else pa.string()

"""A source for writers: token vectors or an index, document by document, with totals known in advance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import FloatArray
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.ids import Id
from maxsieve.index import Index

Writable: TypeAlias = TokenVectors | TokenVectorChunks | Index

BLOCK_BYTES = 16 << 20
"""Size of a record batch or a row group."""


@dataclass(frozen=True, eq=False)
class WriteSource:
    """Documents to write: their number, tokens, dimension and (little-endian) type, and an iterator over them."""

    count: int
    tokens: int
    dim: int
    dtype: np.dtype[Any]
    ids: list[Id] | None
    documents: Iterator[FloatArray]

    def checked(self) -> Iterator[FloatArray]:
        """The documents in the announced type; an error at the end if their number is not the announced one."""
        count = tokens = 0
        for rows in self.documents:
            count, tokens = count + 1, tokens + len(rows)
            yield rows.astype(self.dtype, copy=False)
        if (count, tokens) != (self.count, self.tokens):
            raise ValueError(
                f"{self.count} documents with {self.tokens} tokens were expected, but {count} with {tokens} were "
                "read: they were changed meanwhile"
            )

    def put(self, write: Callable[[bytes], object]) -> NDArray[np.int64]:
        """Passes the bytes of all rows to ``write``, one document at a time, and returns the lengths."""
        lengths = np.zeros(self.count, np.int64)
        for i, rows in enumerate(self.checked()):
            if i < self.count:
                lengths[i] = len(rows)
                write(rows.tobytes())
        return lengths

    def blocks(self, most_bytes: int = BLOCK_BYTES) -> Iterator[TokenVectors]:
        """The documents copied into chunks of at most that size (a longer document gets its own chunk), at least one.

        While a chunk is used, the next one is filled: two of them are in memory.
        """
        capacity = max(1, most_bytes // (self.dim * self.dtype.itemsize))
        rows, filled, first = self._buffer(capacity), 0, 0
        lengths: list[int] = []
        for document in self.checked():
            if lengths and filled + len(document) > len(rows):
                yield self._block(rows[:filled], first, lengths)
                first, lengths = first + len(lengths), []
                rows, filled = self._buffer(capacity), 0
            if filled + len(document) > len(rows):
                rows = self._buffer(len(document))
            rows[filled : filled + len(document)] = document
            filled += len(document)
            lengths.append(len(document))
        if lengths or first == 0:
            yield self._block(rows[:filled], first, lengths)

    def _buffer(self, tokens: int) -> FloatArray:
        return np.empty((tokens, self.dim), self.dtype)

    def _block(self, rows: FloatArray, first: int, lengths: list[int]) -> TokenVectors:
        ids = None if self.ids is None else self.ids[first : first + len(lengths)]
        return TokenVectors(rows, np.array(lengths, np.int64), ids)


def write_source(vectors: Writable) -> WriteSource:
    """The source of a writer. An index must not change until it is written.

    >>> write_source(TokenVectors(np.eye(2, dtype=">f2"), [2])).dtype
    dtype('float16')
    """
    if isinstance(vectors, Index):
        ids = vectors.ids
        stored = vectors.vectors(ids[0]).dtype if ids else np.dtype(np.float32)
        each = (vectors.vectors(doc_id) for doc_id in ids)
        return WriteSource(len(ids), vectors.tokens, vectors.dim, stored, ids, each)
    if not isinstance(vectors, (TokenVectors, TokenVectorChunks)):
        raise TypeError(f"TokenVectors, TokenVectorChunks or an Index can be written, not {type(vectors).__name__}")
    if isinstance(vectors, TokenVectorChunks) and vectors.once:
        raise ValueError(f"{vectors.origin} can be read only once, but writing reads it twice: write its joined()")
    count = tokens = dim = 0
    types = []
    found_ids: list[Id] = []
    for chunk in vectors.chunks() if isinstance(vectors, TokenVectorChunks) else [vectors]:
        count, tokens, dim = count + len(chunk), tokens + len(chunk.rows), chunk.dim
        types.append(chunk.rows.dtype)
        found_ids += chunk.ids or []
    dtype = np.result_type(*types)
    if dtype.kind == "f":  # bfloat16 is of another kind, without a byte order
        dtype = np.dtype(dtype.newbyteorder("<").str)
    if found_ids and len(found_ids) != count:
        raise ValueError(f"there are {len(found_ids)} ids for {count} documents")
    return WriteSource(count, tokens, dim, dtype, found_ids or vectors.ids, vectors.documents())

"""What is to be written: token vectors or an index, document by document, with its totals known beforehand."""

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
"""Rows gathered before they become a record batch or a row group."""


@dataclass(frozen=True, eq=False)
class Outgoing:
    """Documents to be written: their number, tokens, dimension and (little-endian) type, and each once, in order."""

    count: int
    tokens: int
    dim: int
    dtype: np.dtype[Any]
    ids: list[Id] | None
    documents: Iterator[FloatArray]

    def checked(self) -> Iterator[FloatArray]:
        """The documents in the type announced; an error if in the end they are not those announced."""
        count = tokens = 0
        for rows in self.documents:
            count, tokens = count + 1, tokens + len(rows)
            yield rows.astype(self.dtype, copy=False)
        if (count, tokens) != (self.count, self.tokens):
            raise ValueError(
                f"{self.count} documents with {self.tokens} tokens were to be written, but {count} with {tokens} came: "
                "they were changed meanwhile"
            )

    def put(self, write: Callable[[bytes], object]) -> NDArray[np.int64]:
        """Hands the bytes of all rows to ``write``, a document at a time, and returns the lengths."""
        lengths = np.zeros(self.count, np.int64)
        for i, rows in enumerate(self.checked()):
            if i < self.count:
                lengths[i] = len(rows)
                write(rows.tobytes())
        return lengths

    def blocks(self, most_bytes: int = BLOCK_BYTES) -> Iterator[TokenVectors]:
        """The documents copied into pieces of at most that size (a longer document is one of its own), at least one.

        While one is used the next is filled: two of them are in memory.
        """
        capacity = max(1, most_bytes // (self.dim * self.dtype.itemsize))
        rows, filled, first = self._room(capacity), 0, 0
        lengths: list[int] = []
        for document in self.checked():
            if lengths and filled + len(document) > len(rows):
                yield self._block(rows[:filled], first, lengths)
                first, lengths = first + len(lengths), []
                rows, filled = self._room(capacity), 0
            if filled + len(document) > len(rows):
                rows = self._room(len(document))
            rows[filled : filled + len(document)] = document
            filled += len(document)
            lengths.append(len(document))
        if lengths or first == 0:
            yield self._block(rows[:filled], first, lengths)

    def _room(self, tokens: int) -> FloatArray:
        return np.empty((tokens, self.dim), self.dtype)

    def _block(self, rows: FloatArray, first: int, lengths: list[int]) -> TokenVectors:
        ids = None if self.ids is None else self.ids[first : first + len(lengths)]
        return TokenVectors(rows, np.array(lengths, np.int64), ids)


def outgoing(vectors: Writable) -> Outgoing:
    """What a writer needs to know. An index must not be changed until it is written.

    >>> outgoing(TokenVectors(np.eye(2, dtype=">f2"), [2])).dtype
    dtype('float16')
    """
    if isinstance(vectors, Index):
        ids = vectors.ids
        stored = vectors.vectors(ids[0]).dtype if ids else np.dtype(np.float32)
        each = (vectors.vectors(one) for one in ids)
        return Outgoing(len(ids), vectors.tokens, vectors.dim, stored, ids, each)
    if not isinstance(vectors, (TokenVectors, TokenVectorChunks)):
        raise TypeError(f"TokenVectors, TokenVectorChunks or an Index can be written, not {type(vectors).__name__}")
    if isinstance(vectors, TokenVectorChunks) and vectors.once:
        raise ValueError(
            f"{vectors.origin} can be gone through once, which is too few to be written: write its joined()"
        )
    count = tokens = dim = 0
    types = []
    brought: list[Id] = []
    for chunk in vectors.chunks() if isinstance(vectors, TokenVectorChunks) else [vectors]:
        count, tokens, dim = count + len(chunk), tokens + len(chunk.rows), chunk.dim
        types.append(chunk.rows.dtype)
        brought += chunk.ids or []
    dtype = np.result_type(*types)
    if dtype.kind == "f":  # bfloat16 is of another kind, and has no byte order
        dtype = np.dtype(dtype.newbyteorder("<").str)
    if brought and len(brought) != count:
        raise ValueError(f"there are {len(brought)} ids for {count} documents")
    return Outgoing(count, tokens, dim, dtype, brought or vectors.ids, vectors.documents())

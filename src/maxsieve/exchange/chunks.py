"""Token vectors that come in pieces: record batches, row groups, numbered files. Read as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from maxsieve.arrays import FloatArray, check_mapped
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.ids import Id
from maxsieve.index import Index


@dataclass(frozen=True, eq=False, repr=False)
class TokenVectorChunks:
    """Documents in pieces, each read when its turn comes and let go afterwards; can be gone through again and again.

    ``open_source`` starts from the beginning, with at least one piece; ``ids`` are those of all documents, or None;
    ``origin`` is the file or folder that errors name.

    >>> halves = [TokenVectors(np.ones((2, 3)), [2]), TokenVectors(np.zeros((1, 3)), [0, 1])]
    >>> chunks = TokenVectorChunks(lambda: iter(halves), ["a", "b", "c"], "halves")
    >>> [len(rows) for rows in chunks.documents()]
    [2, 0, 1]
    """

    open_source: Callable[[], Iterator[TokenVectors]]
    ids: list[Id] | None
    origin: str

    def __repr__(self) -> str:
        return f"<maxsieve.exchange.TokenVectorChunks of {self.origin}>"

    def chunks(self) -> Iterator[TokenVectors]:
        """The pieces in order, each with its share of the ids."""
        first, dim = 0, None
        for chunk in self.open_source():
            if dim not in (None, chunk.dim):
                raise ValueError(
                    f"{self.origin}: from document {first} on vectors have {chunk.dim} dimensions; {dim} before"
                )
            dim, last = chunk.dim, first + len(chunk)
            if self.ids is not None and last > len(self.ids):
                raise ValueError(f"{self.origin}: there are more documents than the {len(self.ids)} ids")
            yield replace(chunk, ids=None if self.ids is None else self.ids[first:last])
            first = last
        if self.ids is not None and first != len(self.ids):
            raise ValueError(f"{self.origin}: there are {len(self.ids)} ids for {first} documents")

    def _begin(self) -> tuple[TokenVectors, Iterator[TokenVectors]]:
        pieces = self.chunks()
        first = next(pieces, None)
        if first is None:
            raise ValueError(f"{self.origin}: there is nothing, hence no dimension")
        return first, pieces

    def documents(self) -> Iterator[FloatArray]:
        """The documents [L, d] in order: views of a piece, which lives as long as they do."""
        for chunk in self.chunks():
            yield from chunk.documents()

    def joined(self) -> TokenVectors:
        """All in one array: the piece itself if there is one only, otherwise a copy, filled piece by piece.

        >>> TokenVectorChunks(lambda: iter([TokenVectors(np.eye(2), [1, 1])] * 2), None, "twice").joined().lengths
        array([1, 1, 1, 1])
        """
        first, pieces = self._begin()
        lengths, types = [first.lengths], [first.rows.dtype]
        for chunk in pieces:
            lengths.append(chunk.lengths)
            types.append(chunk.rows.dtype)
        if len(lengths) == 1:
            return first
        every = np.concatenate(lengths)
        rows = np.empty((int(every.sum()), first.dim), np.result_type(*types))
        filled = 0
        for chunk in self.chunks():
            check_mapped([chunk.rows])
            rows[filled : filled + len(chunk.rows)] = chunk.rows
            filled += len(chunk.rows)
        return TokenVectors(rows, every, self.ids)

    def build(self, **options: Any) -> Index:
        """An index of them: `Index.build` with these options, holding one piece at a time beside the index.

        >>> TokenVectorChunks(lambda: iter([TokenVectors(np.eye(2), [1, 1])] * 2), None, "twice").build().ids
        [0, 1, 2, 3]
        """
        first, pieces = self._begin()
        second = next((chunk for chunk in pieces if len(chunk)), None)
        if second is None:  # a flat array says its dimension even without documents, which a generator can't
            return first.build(**options)
        rest = chain.from_iterable(chunk.documents() for chunk in pieces)
        return Index.build(chain(first.documents(), second.documents(), rest), self.ids, **options)

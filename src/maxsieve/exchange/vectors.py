"""The token vectors of some documents, in one array or in pieces, which are read as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import (
    Batch,
    Documents,
    FloatArray,
    check_dim,
    check_mapped,
    flat_batches,
    to_lengths,
    to_numpy,
)
from maxsieve.ids import Id, to_ids
from maxsieve.index import Index
from maxsieve.storage.metadata import to_texts

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class TokenVectors:
    """Documents end to end, as files hold them: rows [tokens, d], lengths [N], and N ids or None.

    ``metadata`` is a record for each document, or None; an index keeps it, files of vectors don't. The arrays can't be
    written to, and often lie in a mapped file: don't change or truncate that file meanwhile. Rows are of float16,
    bfloat16, float32 or float64, as given.

    >>> vectors = TokenVectors(np.arange(6.0).reshape(3, 2), [1, 0, 2], ["a", "b", "c"])
    >>> [rows.tolist() for rows in vectors.documents()]
    [[[0.0, 1.0]], [], [[2.0, 3.0], [4.0, 5.0]]]
    """

    rows: FloatArray
    lengths: NDArray[np.int64]
    ids: list[Id] | None = None
    metadata: list[Any] | None = None

    def __post_init__(self) -> None:
        rows = to_numpy(self.rows, "rows")
        if rows.ndim != 2:
            raise ValueError(f"rows must have two dimensions [tokens, d], not shape {rows.shape}")
        check_dim(rows.shape[1], "rows", None)
        lengths = check_lengths(self.lengths, len(rows))
        if self.ids is not None:
            ids = to_ids(self.ids, "ids")
            if len(ids) != len(lengths):
                raise ValueError(f"there are {len(ids)} ids for {len(lengths)} documents")
            object.__setattr__(self, "ids", ids)
        if self.metadata is not None and len(self.metadata) != len(lengths):
            raise ValueError(f"there are {len(self.metadata)} records of metadata for {len(lengths)} documents")
        object.__setattr__(self, "rows", _read_only(rows))
        object.__setattr__(self, "lengths", _read_only(lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        what = f"{len(self)} documents, {len(self.rows)} tokens, dim {self.dim}, {self.rows.dtype}"
        return f"<maxsieve.exchange.TokenVectors: {what}>"

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return int(self.rows.shape[1])

    def documents(self) -> Iterator[FloatArray]:
        """The documents [L, d] in order, as views of the rows."""
        first = 0
        for length in self.lengths.tolist():
            check_mapped([self.rows])
            yield self.rows[first : first + length]
            first += length

    def build(self, **options: Any) -> Index:
        """An index of them: `Index.build` with these options.

        >>> TokenVectors(np.eye(3), [2, 1]).build(similarity="cosine").ids
        [0, 1]
        """
        return Index.build(self.rows, self.ids, lengths=self.lengths, **({"metadata": self.metadata} | options))

    def add_to(self, index: Index, *, replace: bool = False) -> None:
        """Adds them to an index, all or none, as `Index.add` does. They need ids.

        >>> index = Index.create(3)
        >>> TokenVectors(np.eye(3), [2, 1], ["a", "b"]).add_to(index)
        >>> index.ids
        ['a', 'b']
        """
        ids = _needed(self.ids, "token vectors")
        index.add(self.rows, ids, lengths=self.lengths, metadata=self.metadata, replace=replace)


@dataclass(frozen=True, eq=False, repr=False)
class TokenVectorChunks:
    """Documents in pieces, each read when its turn comes and let go afterwards; can be gone through again and again.

    ``open_source`` starts from the beginning, with at least one piece; ``ids`` are those of all documents, or None
    where pieces bring their own, or there are none; ``origin`` is what errors name, a file or folder. What is read
    only ``once``, as others' readers are, can't be gone through again.

    >>> halves = [TokenVectors(np.ones((2, 3)), [2]), TokenVectors(np.zeros((1, 3)), [0, 1])]
    >>> chunks = TokenVectorChunks(lambda: iter(halves), ["a", "b", "c"], "halves")
    >>> [len(rows) for rows in chunks.documents()]
    [2, 0, 1]
    """

    open_source: Callable[[], Iterator[TokenVectors]]
    ids: list[Id] | None
    origin: str
    once: bool = False

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
            yield chunk if self.ids is None else replace(chunk, ids=self.ids[first:last])
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
        held = [first]
        lengths, types = [first.lengths], [first.rows.dtype]
        for chunk in pieces:
            if self.once:  # the only chance
                held.append(chunk)
            lengths.append(chunk.lengths)
            types.append(chunk.rows.dtype)
        if len(lengths) == 1:
            return first
        every = np.concatenate(lengths)
        rows = np.empty((int(every.sum()), first.dim), np.result_type(*types))
        filled = 0
        ids: list[list[Id] | None] = []
        metadata: list[list[Any] | None] = []
        for chunk in held if self.once else self.chunks():
            check_mapped([chunk.rows])
            rows[filled : filled + len(chunk.rows)] = chunk.rows
            filled += len(chunk.rows)
            ids.append(chunk.ids)
            metadata.append(chunk.metadata)
        return TokenVectors(rows, every, _joined(ids), _joined(metadata))

    def build(self, **options: Any) -> Index:
        """An index of them: `Index.build` with these options, holding one piece at a time beside the index.

        Where pieces bring their ids, all of them are committed at the end, or, if anything fails, none.

        >>> TokenVectorChunks(lambda: iter([TokenVectors(np.eye(2), [1, 1])] * 2), None, "twice").build().ids
        [0, 1, 2, 3]
        """
        first, pieces = self._begin()
        if self._bring(first):
            return Index.build(_documents(first, pieces), None, **options)
        second = next((chunk for chunk in pieces if len(chunk)), None)
        if second is None:  # a flat array says its dimension even without documents, which a generator can't
            return first.build(**options)
        rest = chain.from_iterable(chunk.documents() for chunk in pieces)
        return Index.build(chain(first.documents(), second.documents(), rest), self.ids, **options)

    def add_to(self, index: Index, *, replace: bool = False) -> None:
        """Adds them to an index, all or, if anything is wrong, none: `Index.add`, in bounded memory on disk.

        >>> index, halves = Index.create(2), [TokenVectors(np.eye(2), [2], [one]) for one in "ab"]
        >>> TokenVectorChunks(lambda: iter(halves), None, "halves").add_to(index)
        >>> index.ids
        ['a', 'b']
        """
        first, pieces = self._begin()
        ids = _needed(first.ids if self.ids is None else self.ids, self.origin)
        check_dim(first.dim, self.origin, index.dim)
        if self._bring(first):
            index.add_documents(_documents(first, pieces), None, replace=replace)
        else:
            rest = chain.from_iterable(chunk.documents() for chunk in pieces)
            index.add(chain(first.documents(), rest), ids, replace=replace)

    def _bring(self, first: TokenVectors) -> bool:
        """Whether pieces bring ids or metadata with them."""
        return first.metadata is not None or (self.ids is None and first.ids is not None)


def _documents(first: TokenVectors, pieces: Iterator[TokenVectors]) -> Documents:
    """The documents of pieces with what they bring along."""

    def batches() -> Iterator[Batch]:
        for piece in chain([first], pieces):
            texts, ids, place = to_texts(piece.metadata, len(piece)), piece.ids, 0
            for batch in flat_batches(piece.rows, piece.lengths):
                some = slice(place, place + len(batch.lengths))
                yield batch._replace(
                    ids=None if ids is None else ids[some], texts=None if texts is None else texts[some]
                )
                place = some.stop

    return Documents(batches(), None, first.dim, resumable=False)


def _joined(lists: list[list[T] | None]) -> list[T] | None:
    """Lists end to end; None where one is missing."""
    found = [one for one in lists if one is not None]
    return [*chain.from_iterable(found)] if len(found) == len(lists) else None


def _needed(ids: list[Id] | None, origin: str) -> list[Id]:
    if ids is None:
        raise ValueError(f"{origin}: there are no ids, which add needs: give ids=, or id_column= of a table")
    return ids


def check_lengths(lengths: Any, tokens: int) -> NDArray[np.int64]:
    """Whole numbers from 0 on, one for each document, that add up to the tokens there are.

    >>> check_lengths([2, 0, 1], 3)
    array([2, 0, 1])
    """
    checked = to_lengths(lengths, tokens, f"there are only {tokens} rows")
    # It is a copy: lengths are few, and may lie in a mapped file that is truncated later.
    ends = np.cumsum(checked)
    if (ends[1:] < ends[:-1]).any():
        raise ValueError("lengths add up to more than 64 bits can hold")
    if (total := int(ends[-1]) if len(ends) else 0) != tokens:
        raise ValueError(f"lengths add up to {total}, but there are {tokens} rows")
    return checked


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that can't be written to; a copy only where numbers straddle the addresses their type asks for."""
    view: NDArray[Any] = array.view() if array.flags.aligned else array.copy()
    view.flags.writeable = False
    return view

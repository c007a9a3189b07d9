"""Token vectors of documents, in one array or in chunks, which are read lazily."""

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
from maxsieve.storage.builder import add_documents
from maxsieve.storage.metadata import to_texts

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class TokenVectors:
    """Concatenated documents: rows [tokens, d], lengths [N], and N ids or None.

    ``metadata`` has one record per document, or is None; an index stores it, files of vectors do not. The arrays are
    read-only, and are often views of a memory-mapped file: do not change or truncate that file meanwhile. Rows are
    float16, bfloat16, float32 or float64, as given.

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
        """The dimension of the vectors."""
        return int(self.rows.shape[1])

    def documents(self) -> Iterator[FloatArray]:
        """The documents [L, d] in order, as views of the rows."""
        first = 0
        for length in self.lengths.tolist():
            check_mapped([self.rows])
            yield self.rows[first : first + length]
            first += length

    def build(self, **options: Any) -> Index:
        """Builds an index: `Index.build` with these options.

        >>> TokenVectors(np.eye(3), [2, 1]).build(similarity="cosine").ids
        [0, 1]
        """
        return Index.build(self.rows, self.ids, lengths=self.lengths, **({"metadata": self.metadata} | options))

    def add_to(self, index: Index, *, replace: bool = False) -> None:
        """Adds all documents to an index, or none, like `Index.add`. They need ids.

        >>> index = Index.create(3)
        >>> TokenVectors(np.eye(3), [2, 1], ["a", "b"]).add_to(index)
        >>> index.ids
        ['a', 'b']
        """
        ids = _needed(self.ids, "token vectors")
        index.add(self.rows, ids, lengths=self.lengths, metadata=self.metadata, replace=replace)


@dataclass(frozen=True, eq=False, repr=False)
class TokenVectorChunks:
    """Documents in chunks. Each is read when it is needed and freed afterwards; they can be read repeatedly.

    ``open_source`` starts from the beginning, and yields at least one chunk. ``ids`` are those of all documents, or
    None if the chunks have their own or there are none. ``origin`` is the file or folder that errors name. A source
    with ``once``, such as an Arrow reader, can be read only once.

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
        """The chunks in order, each with its part of the ids."""
        first, dim = 0, None
        for chunk in self.open_source():
            if dim not in (None, chunk.dim):
                raise ValueError(
                    f"{self.origin}: vectors have {chunk.dim} dimensions from document {first} on, but {dim} before"
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
            raise ValueError(f"{self.origin}: it is empty, so the dimension is unknown")
        return first, pieces

    def documents(self) -> Iterator[FloatArray]:
        """The documents [L, d] in order, as views of a chunk, which they keep in memory."""
        for chunk in self.chunks():
            yield from chunk.documents()

    def joined(self) -> TokenVectors:
        """All documents in one array: the chunk itself if there is only one, otherwise a copy.

        >>> TokenVectorChunks(lambda: iter([TokenVectors(np.eye(2), [1, 1])] * 2), None, "twice").joined().lengths
        array([1, 1, 1, 1])
        """
        first, pieces = self._begin()
        held = [first]
        lengths, types = [first.lengths], [first.rows.dtype]
        for chunk in pieces:
            if self.once:  # there is no second pass
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
        """Builds an index: `Index.build` with these options. One chunk at a time is in memory beside the index.

        If the chunks have their own ids, all documents are committed at the end, or none if anything fails.

        >>> TokenVectorChunks(lambda: iter([TokenVectors(np.eye(2), [1, 1])] * 2), None, "twice").build().ids
        [0, 1, 2, 3]
        """
        first, pieces = self._begin()
        if self._has_own(first):
            return Index.build(_documents(first, pieces), None, **options)
        second = next((chunk for chunk in pieces if len(chunk)), None)
        if second is None:  # a flat array has a dimension even without documents; a generator does not
            return first.build(**options)
        rest = chain.from_iterable(chunk.documents() for chunk in pieces)
        return Index.build(chain(first.documents(), second.documents(), rest), self.ids, **options)

    def add_to(self, index: Index, *, replace: bool = False) -> None:
        """Adds all documents to an index, or none if anything is wrong: `Index.add`, in bounded memory.

        >>> index, halves = Index.create(2), [TokenVectors(np.eye(2), [2], [id]) for id in "ab"]
        >>> TokenVectorChunks(lambda: iter(halves), None, "halves").add_to(index)
        >>> index.ids
        ['a', 'b']
        """
        first, pieces = self._begin()
        ids = _needed(first.ids if self.ids is None else self.ids, self.origin)
        check_dim(first.dim, self.origin, index.dim)
        if self._has_own(first):
            add_documents(index.storage, _documents(first, pieces), None, replace=replace)
        else:
            rest = chain.from_iterable(chunk.documents() for chunk in pieces)
            index.add(chain(first.documents(), rest), ids, replace=replace)

    def _has_own(self, first: TokenVectors) -> bool:
        """Whether the chunks have their own ids or metadata."""
        return first.metadata is not None or (self.ids is None and first.ids is not None)


def _documents(first: TokenVectors, pieces: Iterator[TokenVectors]) -> Documents:
    """The documents of the chunks, with their ids and metadata."""

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
    """The concatenated lists; None if one of them is None."""
    found = [ids for ids in lists if ids is not None]
    return [*chain.from_iterable(found)] if len(found) == len(lists) else None


def _needed(ids: list[Id] | None, origin: str) -> list[Id]:
    if ids is None:
        raise ValueError(f"{origin}: add needs ids, and there are none: give ids=, or id_column= of a table")
    return ids


def check_lengths(lengths: Any, tokens: int) -> NDArray[np.int64]:
    """Checks lengths: whole numbers of at least 0, one per document, whose sum is the number of tokens.

    >>> check_lengths([2, 0, 1], 3)
    array([2, 0, 1])
    """
    checked = to_lengths(lengths, tokens, f"there are only {tokens} rows")
    # A copy: lengths are few, and may be in a memory-mapped file that is truncated later.
    ends = np.cumsum(checked)
    if (ends[1:] < ends[:-1]).any():
        raise ValueError("lengths add up to more than 64 bits can hold")
    if (total := int(ends[-1]) if len(ends) else 0) != tokens:
        raise ValueError(f"lengths add up to {total}, but there are {tokens} rows")
    return checked


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; a copy only if the array is not aligned."""
    view: NDArray[Any] = array.view() if array.flags.aligned else array.copy()
    view.flags.writeable = False
    return view

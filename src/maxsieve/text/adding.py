"""Adding texts so that it can be interrupted at any moment and gone on with: batch by batch, each a commit.

What is in already is recognised by its record before it is encoded, so going on is nothing but adding again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.text.documents import Document

BATCH_CHARACTERS = 1 << 17
"""Text that is encoded and committed at a time: some 30,000 tokens, a few seconds' work, and at most that is lost."""

BATCH_DOCUMENTS = 1024

LOOKUPS = 64
"""Documents that are looked up at a time."""

COMMITS = 64
"""So many commits are merged while more come: each has three open files."""

FEW_SEGMENTS, SMALL_SEGMENT = 8, 256 << 20
"""More segments than this, each below this many bytes, are worth merging: opening takes milliseconds for each."""

Encode = Callable[[list[str]], Sequence[NDArray[np.float32]]]
T = TypeVar("T")


class Added(NamedTuple):
    """How many documents were new, in already (not encoded again), and replaced."""

    added: int
    skipped: int
    replaced: int


def add_documents(
    index: Index, documents: Iterator[Document], encode: Encode, *, replace: bool, advance: Callable[[int], None]
) -> Added:
    """Adds documents to the index of a collection; those of earlier batches stay when a later one fails."""
    queue = _Queue(index, encode, replace, advance)
    while group := list(islice(documents, LOOKUPS)):
        _check_id_type(index, group[0].id)
        known = index.known_metadata(document.id for document in group)
        for document in group:
            queue.put(document, known.get(document.id))
        queue.commit(all_of_it=False)
    queue.commit(all_of_it=True)
    return queue.added


def batches(texts: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Cuts texts into batches to be encoded."""
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += length(text)
        if characters >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def worth_merging(index: Index) -> bool:
    """Whether many small commits have left many small segments."""
    return sum(segment.nbytes < SMALL_SEGMENT for segment in index.snapshot.segments) > FEW_SEGMENTS


class _Queue:
    """Documents that wait until there are enough for a batch."""

    def __init__(self, index: Index, encode: Encode, replace: bool, advance: Callable[[int], None]) -> None:
        self._index, self._encode, self._replace, self._advance = index, encode, replace, advance
        self._waiting: dict[Id, Document] = {}
        self._commits = 0
        self.added = Added(0, 0, 0)

    def put(self, document: Document, stored: Any) -> None:
        """Takes a document unless it is in already; ``stored`` is the record under its id, if there is one."""
        added, skipped, replaced = self.added
        if (waiting := self._waiting.get(document.id)) is not None:
            stored = waiting.as_stored
        if stored is not None and document.as_stored == stored:
            self.added = Added(added, skipped + 1, replaced)
            self._advance(1)
            return
        if stored is not None and not self._replace:
            what = "other metadata" if stored["text"] == document.text else "another text"
            raise ValueError(
                f"ids: {document.id!r} is in the collection already, with {what}; replace=True replaces it"
            )
        self._waiting[document.id] = document
        self.added = Added(added + (stored is None), skipped, replaced + (stored is not None))

    def commit(self, *, all_of_it: bool) -> None:
        """Encodes and adds what waits; the last batch, if it is not full, only when all of it is asked for."""
        waiting = batches(list(self._waiting.values()), lambda document: len(document.text))
        for batch in waiting:
            full = len(batch) >= BATCH_DOCUMENTS or sum(len(one.text) for one in batch) >= BATCH_CHARACTERS
            if not (full or all_of_it):
                return
            self._index.add(
                self._encode([one.text for one in batch]),
                [one.id for one in batch],
                metadata=[one.record for one in batch],
                replace=self._replace,
            )
            for one in batch:
                del self._waiting[one.id]
            self._advance(len(batch))
            self._commits += 1
            if self._commits % COMMITS == 0:
                self._index.compact()


def _check_id_type(index: Index, one: Id) -> None:
    """Refuses ids of another type than those in the index, before anything is encoded."""
    state = index.snapshot
    if len(state.live) and type(known := state.ids[int(state.live[0])]) is not type(one):
        raise TypeError(f"ids: {one!r} is {type(one).__name__}; this collection has {type(known).__name__} ids")

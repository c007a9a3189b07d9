"""The interface of a storage, which is in memory or on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Documents
from maxsieve.errors import Argument, ClosedIndexError, hinted
from maxsieve.ids import Id, find_duplicate, positions_of
from maxsieve.storage.builder import SegmentBuilder
from maxsieve.storage.metadata import Texts
from maxsieve.storage.segments import SEQUENCE, BlockKind, Segment
from maxsieve.storage.snapshot import Snapshot


class Addition:
    """Documents that are being added. Each segment is passed to ``emit`` when it is full, in order.

    ``ids`` is None if the batches contain ids, or if documents are numbered. ``texts`` are their metadata as JSON, or
    None. ``admit`` refuses ids that can't be added to the index. In a shard, the batches contain sequence numbers, too.
    """

    def __init__(
        self,
        ids: list[Id] | None,
        texts: Sequence[str | None] | None,
        dim: int,
        kinds: tuple[BlockKind, ...],
        emit: Callable[[Segment], None],
        admit: Callable[[list[Id]], None],
    ) -> None:
        self._dim, self._kinds, self._emit, self._admit = dim, kinds, emit, admit
        self._ids, self._texts = ids, None if texts is None else list(texts)
        self._came: set[Id] = set()
        self._sequence: list[int] = []
        self.documents = 0

    def arrive(
        self, ids: list[Id] | None, texts: list[str | None] | None, sequence: NDArray[np.int64] | None = None
    ) -> None:
        """Takes the ids, metadata and sequence numbers of a batch, before its documents are added."""
        if ids is not None:
            self._admit(ids)
            if (twice := next((one for one in ids if one in self._came), None)) is not None:
                raise ValueError(f"ids: {twice!r} occurs twice")
            if ids and self._came and type(ids[0]) is not type(next(iter(self._came))):
                raise TypeError("ids must be all str or all int, not a mixture")
            self._came.update(ids)
            self._ids = [] if self._ids is None else self._ids
            self._ids += ids
        if texts is not None:
            self._texts = [] if self._texts is None else self._texts
            self._texts += texts
        if sequence is not None:
            self._sequence += sequence.tolist()

    def name(self, document: int) -> str:
        """The name of a document in errors; documents are counted from 0."""
        return f"document {document if self._ids is None else self._ids[document]!r}"

    def add(self, offsets: NDArray[np.int64], blocks: dict[str, NDArray[Any]]) -> None:
        """Makes a segment of the next documents."""
        count = len(offsets) - 1
        first, last = self.documents, self.documents + count
        given = [] if self._texts is None else self._texts[first:last]
        texts = Texts({i: text for i, text in enumerate(given) if text is not None})
        ids = list(range(first, last)) if self._ids is None else self._ids[first:last]
        if SEQUENCE in self._kinds:
            blocks = {**blocks, SEQUENCE.name: np.array(self._sequence[first:last], np.int64)}
        self._emit(Segment(self._dim, self._kinds, offsets, blocks, ids, texts, np.ones(count, np.bool_)))
        self.documents = last

    def take(self, documents: Documents, builder: SegmentBuilder, advance: Callable[[int], None]) -> None:
        """Adds all of these documents through a builder, which passes its segments to `add`."""
        count = 0
        for batch in documents.batches:
            self.arrive(batch.ids, batch.texts)
            count += len(batch.lengths)
            self.check(count, complete=False)
            builder.add(batch)
            advance(len(batch.lengths))
        self.check(count, complete=True)
        builder.finish()

    def check(self, count: int, *, complete: bool) -> None:
        """Compares the number of documents with the numbers of ids and of metadata."""
        for given, what in ((self._ids, "ids"), (self._texts, "metadata")):
            if given is not None and count > len(given):
                raise ValueError(f"there are more documents than the {len(given)} {what}")
            if given is not None and complete and count < len(given):
                raise ValueError(f"there are {count} documents but {len(given)} {what}")

    @property
    def ids(self) -> list[Id]:
        """The ids of the documents that were added."""
        return list(range(self.documents)) if self._ids is None else self._ids[: self.documents]


class Storage(Protocol):
    """Holds the current snapshot and replaces it.

    ``guard`` is held only for moments: to read or replace snapshot and positions together. Pickling a storage in memory
    includes its state; a storage on disk is opened again at the newest version.
    """

    guard: threading.Lock

    @property
    def snapshot(self) -> Snapshot:
        """The current state; `ClosedIndexError` after `close`."""

    def copy(self) -> Storage:
        """Another storage at the same state. Nothing is copied: states never change. Later changes are separate."""

    def positions(self, lookups: int = 1) -> Mapping[Id, int]:
        """The position of each id in the current state, for this many lookups. The caller holds the guard."""

    def adding(
        self,
        ids: list[Id] | None,
        texts: Sequence[str | None] | None,
        replace: bool,
        delete: list[Id],
        stepwise: bool,
    ) -> AbstractContextManager[Addition]:
        """Commits the added documents when the block ends without an error; drops them otherwise.

        The documents to ``delete`` are deleted in the same commit. With ``stepwise``, a storage may commit each segment
        when it is full, and keep it if a later one fails.
        """

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""

    def compact(self, progress: bool) -> None:
        """Frees the space of deleted documents."""

    def replace_tiers(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Takes codebook, centroids and calibration from the snapshot that ``change`` makes of the current one.

        Its documents are the same. Nothing else is written meanwhile; if ``change`` fails, nothing has changed.
        """

    def refresh(self) -> None:
        """Moves to the newest state."""

    def verify(self, progress: bool) -> None:
        """Checks for damage."""

    def discard_if_empty(self) -> None:
        """Removes from disk an index that a failed build has left without a document."""

    def close(self) -> None:
        """Releases everything."""


def check_new(
    ids: list[Id], known: Mapping[Id, int], id_type: type | None, replace: bool, delete: Sequence[Id]
) -> None:
    """Refuses ids that can't be added to an index with the ids ``known``, or that would be deleted at the same time."""
    positions_of(list(delete), known, "delete")
    if both := set(ids).intersection(delete):
        raise ValueError(f"ids: {both.pop()!r} is to be added and deleted at once")
    if (twice := find_duplicate(ids)) is not None:
        raise ValueError(f"ids: {twice!r} occurs twice")
    if ids and id_type is not None and type(ids[0]) is not id_type:
        raise TypeError(f"ids: this index has {id_type.__name__} ids, not {type(ids[0]).__name__}")
    if not replace and (old := next((one for one in ids if one in known), None)) is not None:
        wrong = ValueError(f"ids: {old!r} is in the index already")
        raise hinted(wrong, "; {} replaces it", Argument("replace", True))


def closed() -> ClosedIndexError:
    """The error of a closed storage."""
    return ClosedIndexError("this index is closed")

"""What an index needs of its storage, in memory or on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Documents
from maxsieve.errors import ClosedIndexError
from maxsieve.ids import Id, find_duplicate, positions_of
from maxsieve.storage.building import SegmentBuilder
from maxsieve.storage.metadata import Texts
from maxsieve.storage.segments import SEQUENCE, BlockKind, Segment
from maxsieve.storage.snapshot import Snapshot


class Addition:
    """Documents on their way in. ``emit`` is handed each segment as soon as it is full, in order.

    ``ids`` is None where documents bring their ids along, or else are numbered; ``texts`` are their metadata as JSON,
    or None for none. ``admit`` refuses ids that the index can't take. Documents of a shard bring their sequence numbers
    along, too.
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
        """Ids, metadata and sequence numbers that documents bring along, before these are added."""
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
        """Which document is meant, for errors; they are counted from 0 on."""
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
        """Has a builder, which hands its segments to `add`, take all of some documents."""
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
        """Compares the number of documents that have come with the ids and metadata that are there for them."""
        for given, what in ((self._ids, "ids"), (self._texts, "metadata")):
            if given is not None and count > len(given):
                raise ValueError(f"there are more documents than the {len(given)} {what}")
            if given is not None and complete and count < len(given):
                raise ValueError(f"there are {count} documents but {len(given)} {what}")

    @property
    def ids(self) -> list[Id]:
        """The ids of the documents that have come."""
        return list(range(self.documents)) if self._ids is None else self._ids[: self.documents]


class Storage(Protocol):
    """Holds the current snapshot and replaces it.

    ``guard`` is held for moments only: to read or to replace snapshot and positions together. Sent to another process,
    one in memory arrives as it was, one on disk at the newest version.
    """

    guard: threading.Lock

    @property
    def snapshot(self) -> Snapshot:
        """The current state; `ClosedIndexError` after `close`."""

    def copy(self) -> Storage:
        """Another one at the same state, of which nothing is copied, for it never changes. From then on they differ."""

    def positions(self, lookups: int = 1) -> Mapping[Id, int]:
        """The position of each id in the current state, for so many lookups. Call it under the guard."""

    def adding(
        self,
        ids: list[Id] | None,
        texts: Sequence[str | None] | None,
        replace: bool,
        delete: list[Id],
        stepwise: bool,
    ) -> AbstractContextManager[Addition]:
        """Commits what the addition was handed when the block ends well; forgets it when it fails.

        The documents to ``delete`` go in the same commit. ``stepwise`` allows a storage to commit each segment as it
        comes, and to keep those when a later one fails.
        """

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""

    def compact(self, progress: bool) -> None:
        """Gives back what deleted documents take."""

    def replace_tiers(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Takes codebook, centroids and calibration from the snapshot that ``change`` makes of the current one.

        Its documents are the same. Nothing else is written meanwhile; if ``change`` fails, nothing has changed.
        """

    def refresh(self) -> None:
        """Goes to the newest state."""

    def verify(self, progress: bool) -> None:
        """Looks for damage."""

    def discard_if_empty(self) -> None:
        """Removes from disk an index that a failed build has left without a document."""

    def close(self) -> None:
        """Releases everything."""


def check_new(
    ids: list[Id], known: Mapping[Id, int], id_type: type | None, replace: bool, delete: Sequence[Id]
) -> None:
    """Refuses ids that can't be added to an index with ids ``known``, or that can't be deleted from it with that."""
    positions_of(list(delete), known, "delete")
    if both := set(ids).intersection(delete):
        raise ValueError(f"ids: {both.pop()!r} is to be added and deleted at once")
    if (twice := find_duplicate(ids)) is not None:
        raise ValueError(f"ids: {twice!r} occurs twice")
    if ids and id_type is not None and type(ids[0]) is not id_type:
        raise TypeError(f"ids: this index has {id_type.__name__} ids, not {type(ids[0]).__name__}")
    if not replace and (old := next((one for one in ids if one in known), None)) is not None:
        raise ValueError(f"ids: {old!r} is in the index already; replace=True replaces it")


def closed() -> ClosedIndexError:
    """What a closed storage answers."""
    return ClosedIndexError("this index is closed")

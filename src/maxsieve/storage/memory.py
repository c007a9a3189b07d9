"""An index in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.threads import thread_count
from maxsieve.ids import Id
from maxsieve.storage import segments
from maxsieve.storage.calibration import NO_CHANGES, Changes
from maxsieve.storage.segments import Layout, Segment, living, merge_small
from maxsieve.storage.snapshot import Lookup, Snapshot
from maxsieve.storage.storage import Calibrate, NewCalibrations, Storage, check_new, not_closed


class MemoryStorage(Storage):
    """Segments as arrays, and a dict from ids to positions, which is updated with each change."""

    def __init__(self, layout: Layout) -> None:
        self._begin(lambda lookup: Snapshot(layout, (), lookup=lookup))

    def _begin(self, make: Callable[[Lookup], Snapshot]) -> None:
        self._writing = threading.Lock()
        self._positions = LatestPositions()
        snapshot = make(self._positions.reading)
        self._snapshot: Snapshot | None = snapshot
        self._positions.restart(snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """The current version."""
        return not_closed(self._snapshot)

    def copy(self) -> MemoryStorage:
        """Another storage with the same documents. Later changes of one do not affect the other."""
        return MemoryStorage.of(self.snapshot)

    @classmethod
    def of(cls, snapshot: Snapshot) -> MemoryStorage:
        """A storage that begins with a version."""
        made = object.__new__(cls)
        made._begin(lambda lookup: replace(snapshot, lookup=lookup))
        return made

    def __getstate__(self) -> dict[str, Any]:
        """The current version: all vectors, by value."""
        return {"snapshot": self.snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(lambda lookup: replace(state["snapshot"], lookup=lookup))

    @contextmanager
    def writing(
        self, *, replace: bool, delete: list[Id], stepwise: bool, reencode: Calibrate | None = None
    ) -> Iterator[MemoryWriter]:
        """All documents become visible at the end. No lock is held before: a generator of them may use this index."""
        writer = MemoryWriter(self, replace, delete)
        writer.admit([])
        yield writer
        with self._writing:
            ids = writer.ids
            writer.admit(ids)
            if reencode is None:
                self._commit(writer.segments, ids, delete)
            else:
                self._commit_reencoded(writer.segments, ids, reencode)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._writing:
            old = self.snapshot
            gone = old.positions(ids, "delete")
            self._advance(old, _without(old, gone), deleted=len(gone), kept=_kept(old, gone), gone=set(ids))

    def compact(self, progress: bool) -> None:
        """Frees the memory of deleted documents."""
        with self._writing:
            old = self.snapshot
            left: list[Segment] = []
            for segment in old.segments:
                if segment.alive.any():
                    left.append(segment if segment.alive.all() else living([segment]).in_memory())
                left = merge_small(left)
            self._snapshot = _changed(old, left)
            self._positions.restart(self._snapshot)

    def replace_tiers(self, calibrate: Calibrate, *, train: bool) -> None:
        """Commits new calibrations, lists of all documents and, with ``train`` or if there is none, a new codebook."""
        with self._writing:
            old = self.snapshot
            new = old.with_tiers(thread_count(None), train=train)
            new = _calibrated(new, calibrate(new, old))
            self._positions.advance(old, new)
            self._snapshot = new

    def refresh(self) -> None:
        """Nothing to do: nobody else writes here."""
        self.snapshot  # noqa: B018

    def verify(self, progress: bool) -> None:
        """Does nothing: memory is not checked."""
        self.snapshot  # noqa: B018

    def close(self) -> None:
        """Releases everything."""
        with self._writing:
            self._snapshot = None

    def _commit(self, new: list[Segment], ids: list[Id], delete: list[Id]) -> None:
        old = self.snapshot
        first = old.starts[-1]
        gone = np.array(sorted(old.known([*dict.fromkeys([*ids, *delete])]).values()), np.int64)
        threads = thread_count(None)
        merged = merge_small([*_without(old, gone), *(old.as_stored(one, old.codebook, threads) for one in new)])
        listed = old.with_lists(merged, threads, segments.BLOCK_BYTES)
        added = zip(ids, range(first, first + len(ids)), strict=True)
        kept = _kept(old, gone)
        self._advance(old, listed, added=len(ids), deleted=len(gone), kept=kept, gone=set(delete), positions=added)

    def _commit_reencoded(self, new: list[Segment], ids: list[Id], calibrate: Calibrate) -> None:
        """Commits documents given as byte codes, with a new codebook, in place of those of the same ids."""
        old = self.snapshot
        first = old.starts[-1]
        made = old.with_reencoded(_without(old, old.positions(ids, "reencode")), new, thread_count(None))
        made = _calibrated(made, calibrate(made, old))
        self._positions.advance(old, made, added=zip(ids, range(first, first + len(ids)), strict=True))
        self._snapshot = made

    def _advance(
        self,
        old: Snapshot,
        segments: Sequence[Segment],
        *,
        added: int = 0,
        deleted: int = 0,
        kept: int | None = None,
        gone: Iterable[Id] = (),
        positions: Iterable[tuple[Id, int]] = (),
    ) -> None:
        new = replace(_changed(old, segments, added=added, deleted=deleted), kept=kept)
        self._positions.advance(old, new, gone, positions)
        self._snapshot = new


class MemoryWriter:
    """Collects segments for one commit."""

    def __init__(self, storage: MemoryStorage, replace: bool, delete: list[Id]) -> None:
        self._storage, self._replace, self._delete = storage, replace, delete
        self.segments: list[Segment] = []

    @property
    def ids(self) -> list[Id]:
        """The ids of all its documents."""
        return [id for segment in self.segments for id in segment.ids]

    def admit(self, ids: list[Id]) -> None:
        """Refuses ids that can't be added."""
        snapshot = self._storage.snapshot
        check_new(ids, snapshot.known, snapshot.id_type, self._replace, self._delete)

    def append(self, segment: Segment) -> None:
        """Adds the documents of a segment."""
        self.segments.append(segment)


class LatestPositions:
    """The positions of ids in the latest version of an index in memory. A change updates them, and copies nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: Snapshot | None = None
        self._table: dict[Id, int] | None = None

    @contextmanager
    def reading(self, snapshot: Snapshot) -> Iterator[dict[Id, int]]:
        """The positions of all ids in a version. Nobody changes them inside of the block."""
        with self._lock:
            yield self._of(snapshot)

    def restart(self, snapshot: Snapshot) -> None:
        """Goes to a version with other positions."""
        with self._lock:
            self._latest, self._table = snapshot, None

    def advance(
        self, old: Snapshot, new: Snapshot, gone: Iterable[Id] = (), added: Iterable[tuple[Id, int]] = ()
    ) -> None:
        """Goes to the next version. Positions of documents that are not named stay the same."""
        with self._lock:
            table = self._of(old)
            self._table = None  # if Ctrl-C interrupts the next lines, the table is made again
            for id in gone:
                del table[id]
            table.update(added)
            self._latest, self._table = new, table

    def _of(self, snapshot: Snapshot) -> dict[Id, int]:
        if snapshot is self._latest and self._table is not None:
            return self._table
        table = dict(zip(snapshot.live_ids(), snapshot.live.tolist(), strict=True))
        if snapshot is self._latest:  # a search that began before a change may still ask for an older version
            self._table = table
        return table


def _changed(old: Snapshot, segments: Sequence[Segment], *, added: int = 0, deleted: int = 0) -> Snapshot:
    """The next version."""
    changes = Changes(old.changes.added + added, old.changes.deleted + deleted)
    return replace(old, segments=segments, changes=changes if old.calibrations else NO_CHANGES)


def _calibrated(new: Snapshot, made: NewCalibrations) -> Snapshot:
    """A version with new calibrations."""
    added = 0 if made.until is None else new.count_from(made.until)
    return replace(new, calibrations=made.calibrations, changes=Changes(added), kept=len(new.live) - added)


def _kept(old: Snapshot, gone: NDArray[np.int64]) -> int | None:
    """How many documents from before the calibrations stay if these are deleted."""
    return None if old.kept is None else old.kept - int((gone < old.since).sum())


def _without(snapshot: Snapshot, gone: NDArray[np.int64]) -> list[Segment]:
    """The segments of a version with the documents at some positions deleted."""
    if not len(gone):
        return list(snapshot.segments)
    return [
        segment.changed(alive=segment.alive_without(places)) if len(places) else segment
        for segment, places in snapshot.by_segment(gone)
    ]

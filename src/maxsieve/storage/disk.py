"""The storage of an index on disk: `Directory` manages the files, this class the current snapshot of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import MaxsieveError
from maxsieve.ids import Id, positions_of
from maxsieve.storage.calibration import Changes
from maxsieve.storage.directory import Directory
from maxsieve.storage.manifest import Extra, SegmentEntry
from maxsieve.storage.positions import Positions
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Segment, block_kinds, living
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Addition, check_new, closed

SMALL_BYTES = 4 << 20
"""Smaller segments at the end are merged when documents are added, so that adding them one by one leaves few files."""

LARGE_BYTES = 1 << 30
"""`compact` makes no segment larger than this, unless it is a single document."""


class DiskStorage:
    """Follows a directory from version to version.

    Threads of this process take turns at writing; other processes meet the directory's lock. So does a generator of
    documents that writes to the index it is being added to.
    """

    def __init__(self, directory: Directory) -> None:
        self.guard = threading.Lock()
        self._turn = threading.RLock()
        self._directory = directory
        self._closed = False
        self._current = _state_of(directory)

    @property
    def snapshot(self) -> Snapshot:
        """The current state."""
        if self._closed:
            raise closed()
        return self._current.snapshot

    def copy(self) -> DiskStorage:
        """Another storage at the same version, with the same mapped files."""
        self.snapshot  # noqa: B018
        return DiskStorage(Directory(self._directory.path, self._directory.version))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path: the receiver opens the folder again, at its newest version."""
        self.snapshot  # noqa: B018
        return _reopened, (self._directory.path, self._directory.manifest.uid)

    def positions(self, lookups: int = 1) -> Mapping[Id, int]:
        """The position of each id in the current state; a dict if that is faster for this many ids."""
        return self._current.positions.table(lookups)

    @contextmanager
    def adding(
        self,
        ids: list[Id] | None,
        texts: Sequence[str | None] | None,
        replace: bool,
        delete: list[Id],
        stepwise: bool,
    ) -> Iterator[Addition]:
        """Writes each segment when it is full. They become visible at the end or, with ``stepwise``, one by one."""
        with self._writing():

            def admit(some: list[Id]) -> None:
                check_new(some, self.positions(len(some)), self._id_type(), replace, delete)

            if ids is not None:
                admit(ids)
            entries: list[SegmentEntry] = []

            def write(segment: Segment) -> None:
                codebook = self.snapshot.codebook
                named = segment if codebook is None else codebook.name_tokens(segment, thread_count(None))
                entries.append(self._directory.write(living([named])))
                if stepwise:
                    entries_now = [*self._directory.manifest.segments, entries[-1]]
                    self._commit(entries_now, type(segment.ids[0]), added=segment.documents)

            manifest = self._directory.manifest
            kinds = block_kinds(manifest.dim, manifest.store, manifest.sequenced)
            addition = Addition(ids, texts, manifest.dim, kinds, write, admit)
            yield addition
            if not stepwise:
                self._commit_all(entries, addition.ids, delete)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._writing():
            gone = positions_of(ids, self.positions(len(ids)), "delete")
            self._commit(self._without(gone), deleted=len(gone))

    def compact(self, progress: bool) -> None:
        """Merges neighbouring segments and drops deleted documents. Each step is a commit, so it can be interrupted."""
        with (
            self._writing(),
            progress_bar("compacting", len(self._directory.segments), shown=progress, unit="segments") as advance,
        ):
            entries = list(self._directory.manifest.segments)
            # by name: a segment that is held here stays mapped, and its files could not be removed on Windows
            for group in [[segment.entry for segment in group] for group in _groups(self._directory.segments)]:
                if (merged := self._merge_group(group)) is not None:
                    place = entries.index(group[0])
                    entries[place : place + len(group)] = merged
                    self._commit(entries)
                    self._directory.remove_strays()
                advance(len(group))

    def replace_tiers(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Takes codebook, centroids and calibration from the snapshot that ``change`` makes of the current one."""
        with self._writing():
            old = self.snapshot
            new = change(old)
            entries = list(self._directory.manifest.segments)
            extras = dict(self._directory.manifest.extras)
            if new.codebook is not old.codebook and new.codebook is not None:
                extras["codebook"] = self._directory.write_extra("codebook", new.codebook)
                entries = [self._directory.write_centroids(*pair) for pair in zip(entries, new.segments, strict=True)]
            if new.calibration is None:
                extras.pop("calibration", None)
            elif new.calibration is not old.calibration:
                extras["calibration"] = self._directory.write_extra("calibration", new.calibration)
            changes = new.changes
            del old, new  # what is held here stays mapped, and could not be removed on Windows
            self._commit(entries, tiers=(extras, changes))
            self._directory.remove_strays()

    def refresh(self) -> None:
        """Goes to the newest version."""
        with self._turn:
            self.snapshot  # noqa: B018
            if self._directory.refresh():
                self._follow()

    def verify(self, progress: bool) -> None:
        """Reads everything of the current version."""
        with self._turn:
            self.snapshot  # noqa: B018
            with progress_bar("verifying", self._directory.nbytes, shown=progress, unit="bytes") as advance:
                self._directory.verify(advance)

    def discard_if_empty(self) -> None:
        """Removes the index if nothing was ever committed to it."""
        self._directory.discard_if_empty()

    def close(self) -> None:
        """Releases everything."""
        with self._turn, self.guard:
            self._closed = True
            self._directory.release()
            self._current = _state_of(self._directory)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn:
            self.snapshot  # noqa: B018
            try:
                with self._directory.writing():
                    self._follow()
                    yield
            finally:
                self._follow()

    def _follow(self) -> None:
        """Makes the directory's version the current state."""
        if not self._closed and self._current.snapshot.segments is not self._directory.segments:
            state = _state_of(self._directory)
            with self.guard:
                self._current = state

    def _commit_all(self, new: list[SegmentEntry], ids: list[Id], delete: list[Id]) -> None:
        known = self.positions(len(ids) + len(delete))
        gone = np.array([known[one] for one in {*ids, *delete} if one in known], np.int64)
        segments = [self._directory.load(entry) for entry in (*self._without(gone), *new)]
        while len(segments) > 1 and _worth_folding(*(segment.nbytes for segment in segments[-2:])):
            segments[-2:] = [self._directory.load(self._merge(segments[-2:]))]
        id_type = type(ids[0]) if ids else None
        self._commit([segment.entry for segment in segments], id_type, added=len(ids), deleted=len(gone))

    def _commit(
        self,
        entries: Sequence[SegmentEntry],
        id_type: type | None = None,
        *,
        added: int = 0,
        deleted: int = 0,
        tiers: tuple[dict[str, Extra], Changes] | None = None,
    ) -> None:
        """Commits segments, with so many documents added and deleted, or with other files of the whole index."""
        changes = self.snapshot.changes  # raises if a generator of documents has closed the index
        known = self._id_type() if id_type is None else id_type
        others: dict[str, Any] = {}
        if tiers is not None:
            extras, changes = tiers
            others = {"extras": extras, **changes._asdict()}
        elif self.snapshot.calibration is not None:
            others = {"added": changes.added + added, "deleted": changes.deleted + deleted}
        self._directory.commit(entries, None if known is None else known.__name__, **others)
        self._follow()

    def _id_type(self) -> type | None:
        if not len(self._current.snapshot.live):
            return None
        return {"int": int, "str": str}.get(self._directory.manifest.id_type or "")

    def _without(self, gone: NDArray[np.int64]) -> list[SegmentEntry]:
        """All segments, with tombstones for the documents at some positions."""
        shares = self._current.snapshot.by_segment(gone)
        return [
            self._directory.without(old.entry, segment.alive_without(places)) if len(places) else old.entry
            for old, (segment, places) in zip(self._directory.segments, shares, strict=True)
        ]

    def _merge_group(self, entries: Sequence[SegmentEntry]) -> list[SegmentEntry] | None:
        """The segment that replaces neighbouring ones; none if all their documents are deleted."""
        segments = [self._directory.load(entry) for entry in entries]
        if len(segments) == 1 and segments[0].alive.all() and segments[0].documents:
            return None
        return [self._merge(segments)] if any(segment.alive.any() for segment in segments) else []

    def _merge(self, segments: Sequence[StoredSegment]) -> SegmentEntry:
        """One segment of the living documents of several, written but not committed. Damage is not carried over."""
        for segment in segments:
            segment.verify_checksums()
        return self._directory.write(living(segments))


def _reopened(path: Path, uid: str) -> DiskStorage:
    """Opens the pickled index again; an error if its folder has another index now."""
    directory = Directory.open(path)
    if directory.manifest.uid != uid:
        raise MaxsieveError(f"{path} now holds another index than the one that was sent; Index.open opens it")
    return DiskStorage(directory)


class State(NamedTuple):
    """The state that the segments of a directory form."""

    snapshot: Snapshot
    positions: Positions


def _state_of(directory: Directory) -> State:
    manifest, segments = directory.manifest, directory.segments
    # a restored index uses names again, hence the checksums
    names = (f"{entry.segment}-{entry.records_crc:08x}" for entry in manifest.segments)
    version = "-".join([manifest.uid, *names])
    changes = Changes(manifest.added, manifest.deleted)
    codebook, calibration = directory.version.codebook, directory.version.calibration
    return State(Snapshot(manifest.dim, segments, version, codebook, calibration, changes), Positions(segments))


def _groups(segments: Sequence[StoredSegment]) -> Iterator[list[StoredSegment]]:
    """Groups of neighbouring segments that will be merged."""
    group: list[StoredSegment] = []
    size = 0.0
    for segment in segments:
        share = segment.nbytes * (float(segment.alive.mean()) if segment.documents else 0.0)
        if group and size + share > LARGE_BYTES:
            yield group
            group, size = [], 0.0
        group.append(segment)
        size += share
    if group:
        yield group


def _worth_folding(before: int, last: int) -> bool:
    return 2 * last >= before and before + last <= SMALL_BYTES

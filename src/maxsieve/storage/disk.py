"""The storage of an index on disk: `Directory` manages the files, `DiskStorage` commits changes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import MaxsieveError
from maxsieve.ids import Id
from maxsieve.storage.codebook import Codebook, enough_for_store
from maxsieve.storage.directory import Directory, StoredSnapshot
from maxsieve.storage.manifest import Extra, SegmentEntry
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Segment, living
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Calibrate, Storage, awaits_codebook, check_new, not_closed

T = TypeVar("T")

SMALL_BYTES = 4 << 20
"""Smaller segments at the end are merged when documents are added, so that adding them one by one leaves few files."""

LARGE_BYTES = 1 << 30
"""`compact` makes no segment larger than this, unless it is a single document."""


NOTHING = np.zeros(0, np.int64)


class TierFiles(NamedTuple):
    """Files of the tiers of a version: the entries of its segments, and the files of the whole index."""

    entries: list[SegmentEntry]
    extras: dict[str, Extra]
    filters: tuple[Extra, ...]


class DiskStorage(Storage):
    """Follows a directory from version to version.

    Threads of this process take turns at writing; other processes meet the directory's lock. So does a generator of
    documents that writes to the index it is being added to.
    """

    def __init__(self, directory: Directory) -> None:
        self._turn = threading.RLock()
        self._directory = directory
        self._current: StoredSnapshot | None = directory.snapshot

    @property
    def snapshot(self) -> StoredSnapshot:
        """The current version."""
        return not_closed(self._current)

    def copy(self) -> DiskStorage:
        """Another storage at the same version, with the same mapped files."""
        return DiskStorage(Directory(self._directory.path, self.snapshot))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path: the receiver opens the folder again, at its newest version."""
        return _reopened, (self._directory.path, self.snapshot.manifest.uid)

    @contextmanager
    def writing(
        self, *, replace: bool, delete: list[Id], stepwise: bool, reencode: Calibrate | None = None
    ) -> Iterator[DiskWriter]:
        """Writes each segment when it is added. They become visible at the end or, with ``stepwise``, one by one."""
        with self._locked():
            writer = DiskWriter(self, self._directory, replace, delete, stepwise, reencode is not None)
            writer.admit([])
            yield writer
            if reencode is not None:
                self._commit_reencoded(writer.entries, writer.ids, reencode)
            elif not stepwise:
                self._commit_all(writer.entries, writer.ids, delete)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._locked():
            gone = self.snapshot.positions(ids, "delete")
            self.commit(self._without(gone), gone=gone)

    def compact(self, progress: bool) -> None:
        """Merges neighbouring segments and drops deleted documents. Each step is a commit, so it can be interrupted."""
        with (
            self._locked(),
            progress_bar("compacting", len(self._directory.segments), shown=progress, unit="segments") as advance,
        ):
            entries = list(self._directory.manifest.segments)
            # by name: a segment that is held here stays mapped, and its files could not be removed on Windows
            shares = ((segment.entry, segment.nbytes * _mean(segment.alive)) for segment in self._directory.segments)
            for group in list(grouped(shares, key=lambda entry: entry.codebook)):
                if (merged := self._merge_group(group)) is not None:
                    place = entries.index(group[0])
                    entries[place : place + len(group)] = merged
                    self.commit(entries)
                    self._directory.remove_strays()
                advance(len(group))

    def replace_tiers(self, calibrate: Calibrate, *, train: bool) -> None:
        """Commits new calibrations, lists of all documents and, with ``train`` or if there is none, a new codebook."""
        with self._locked():
            old: Snapshot = self.snapshot
            new = old.with_tiers(thread_count(None), train=train)
            made = calibrate(new, old)
            files = self._write_tiers(replace_fields(new, calibrations=made.calibrations))
            del old, new  # what is held here stays mapped, and could not be removed on Windows
            self.commit_tiers(files, made.until)

    def replace_codebook(self, codebook: Codebook) -> None:
        """Commits a codebook that was trained elsewhere; calibrations are dropped."""
        with self._locked():
            self.commit_tiers(self._write_tiers(self.snapshot.coded(codebook, thread_count(None))))

    def convert(self) -> None:
        """Commits the codebook of a store of residuals, and all documents as such, as soon as there are enough.

        The lock must be held, and there must be no calibration.
        """
        if awaits_codebook(self.snapshot) and enough_for_store(self.snapshot.n_tokens):
            self.commit_tiers(self._write_tiers(self.snapshot.with_codebook(thread_count(None))))

    def list_documents(self) -> None:
        """Commits lists of the documents that have none yet."""
        with self._locked():
            new = self.snapshot.listed(thread_count(None))
            if new is not self.snapshot:
                self.commit(self._write_tiers(new).entries)

    def _write_tiers(self, new: Snapshot, given: list[SegmentEntry] | None = None) -> TierFiles:
        """Writes codebook, centroids or lists, and calibrations of a new version, as far as they are new.

        If documents were encoded, their segments are written, too, unless their entries are ``given``.
        """
        old, directory = self.snapshot, self._directory
        entries, extras = given or list(directory.manifest.segments), dict(directory.manifest.extras)
        filters: list[Extra] = []
        if new.codebook is not None and new.codebook is not old.codebook:
            known = directory.manifest.codebooks.get(new.codebook.digest) if new.codebook.bits else None
            extras["codebook"] = known or directory.write_extra("codebook", new.codebook)
        encoded = new.codebook is not None and new.codebook.bits > 0 and new.codebook is not old.codebook
        if encoded and given is None:
            entries = [directory.rewrite(segment) for segment in new.segments]
        if new.codebook is not None and not new.codebook.is_tier0:
            entries = directory.write_lists(entries, new.segments)
        elif new.codebook is not old.codebook:
            entries = [directory.write_centroids(*pair) for pair in zip(entries, new.segments, strict=True)]
        extras.pop("calibration", None)
        for calibration in new.calibrations:
            written = directory.write_extra("calibration", calibration)
            if calibration.where is None:
                extras["calibration"] = written
            else:
                filters.append(written)
        return TierFiles(entries, extras, tuple(filters))

    def commit_tiers(self, files: TierFiles, until: int | None = None) -> None:
        """Commits new files of tiers. The calibrations among them are of the present documents before a number."""
        directory, current = self._directory, self.snapshot
        calibrated = "calibration" in files.extras or files.filters
        added = 0 if until is None else current.count_from(until)
        kept = len(current.live) - added if calibrated and not current.layout.sequenced else None
        known = current.id_type
        directory.commit(
            files.entries,
            None if known is None else known.__name__,
            extras=files.extras,
            filters=files.filters,
            added=added,
            deleted=0,
            kept=kept,
        )
        self._follow()
        directory.remove_strays()

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
        with self._turn:
            self._current = None
            self._directory.release()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Holds the locks of this process and of the folder, at the newest version."""
        with self._turn:
            self.snapshot  # noqa: B018
            try:
                with self._directory.writing():
                    self._follow()
                    yield
            finally:
                self._follow()

    def _follow(self) -> None:
        """Makes the directory's version the current one."""
        if self._current is not None:
            self._current = self._directory.snapshot

    def _commit_all(self, new: list[SegmentEntry], ids: list[Id], delete: list[Id]) -> None:
        gone = np.array(list(self.snapshot.known([*{*ids, *delete}]).values()), np.int64)
        segments = [self._directory.load(entry) for entry in (*self._without(gone), *new)]
        while len(segments) > 1 and _worth_folding(*segments[-2:]):
            segments[-2:] = [self._directory.load(self._merge(segments[-2:]))]
        id_type = type(ids[0]) if ids else None
        self.commit(self.listed(segments), id_type, added=len(ids), gone=gone)

    def listed(self, segments: Sequence[StoredSegment]) -> list[SegmentEntry]:
        """The entries of segments of the next version. Those that are sealed have lists, if there is a codebook."""
        entries = [segment.entry for segment in segments]
        listed = self.snapshot.with_lists(segments, thread_count(None), SMALL_BYTES)
        return entries if listed is segments else self._directory.write_lists(entries, listed)

    def _commit_reencoded(self, new: list[SegmentEntry], ids: list[Id], calibrate: Calibrate) -> None:
        """Commits documents that were written as byte codes, with a new codebook, in place of those of the same ids."""
        directory, old = self._directory, self.snapshot
        replaced = self._without(old.positions(ids, "reencode"))
        entries = [replace_fields(entry, lists=None, lists_crc=0) for entry in replaced]
        others, codes = ([directory.load(entry) for entry in some] for some in (entries, new))
        made = old.with_reencoded(others, codes, thread_count(None))
        made = replace_fields(made, calibrations=calibrate(made, old).calibrations)
        entries += [directory.write(living([segment])) for segment in made.segments[len(others) :]]
        files = self._write_tiers(made, entries)
        del old, others, codes, made  # what is held here stays mapped, and could not be removed on Windows
        self.commit_tiers(files)

    def commit(
        self,
        entries: Sequence[SegmentEntry],
        id_type: type | None = None,
        *,
        added: int = 0,
        gone: NDArray[np.int64] = NOTHING,
    ) -> None:
        """Commits segments, with so many documents added, and those at some positions deleted."""
        current = self.snapshot  # raises if a generator of documents has closed the index
        known = current.id_type if id_type is None else id_type
        others: dict[str, Any] = {}
        if current.calibrations:
            others = {"added": current.changes.added + added, "deleted": current.changes.deleted + len(gone)}
            if current.kept is not None:
                others["kept"] = current.kept - int((gone < current.since).sum())
        self._directory.commit(entries, None if known is None else known.__name__, **others)
        self._follow()

    def _without(self, gone: NDArray[np.int64]) -> list[SegmentEntry]:
        """All segments, with tombstones for the documents at some positions."""
        shares = self.snapshot.by_segment(gone)
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


class DiskWriter:
    """Writes segments as files, for one commit or for one each."""

    def __init__(
        self,
        storage: DiskStorage,
        directory: Directory,
        replace: bool,
        delete: list[Id],
        stepwise: bool,
        reencode: bool,
    ) -> None:
        self._storage, self._directory = storage, directory
        self._replace, self._delete, self._stepwise, self._reencode = replace, delete, stepwise, reencode
        self.entries: list[SegmentEntry] = []
        self.ids: list[Id] = []

    def admit(self, ids: list[Id]) -> None:
        """Refuses ids that can't be added."""
        snapshot = self._storage.snapshot
        check_new(ids, snapshot.known, snapshot.id_type, self._replace, self._delete)

    def append(self, segment: Segment) -> None:
        """Writes a segment, and commits it if each segment is a commit."""
        snapshot = self._storage.snapshot
        codebook = None if self._reencode else snapshot.codebook
        stored = snapshot.as_stored(segment, codebook, thread_count(None))
        self.entries.append(self._directory.write(living([stored])))
        self.ids += segment.ids
        if self._stepwise:
            segments = [*self._directory.segments, self._directory.load(self.entries[-1])]
            self._storage.commit(self._storage.listed(segments), type(segment.ids[0]), added=segment.documents)
            self._storage.convert()


def grouped(
    shares: Iterable[tuple[T, float]], most: int | None = None, *, key: Callable[[T], object] = lambda _: None
) -> Iterator[list[T]]:
    """Neighbours with one key that become one segment: not too many bytes together, and at most ``most`` of them.

    >>> list(grouped([("a", 1 << 29), ("b", 1 << 29), ("c", 1.0), ("d", 1.0)], most=3))
    [['a', 'b'], ['c', 'd']]
    """
    group: list[T] = []
    size = 0.0
    for part, share in shares:
        if group and (size + share > LARGE_BYTES or len(group) == most or key(part) != key(group[-1])):
            yield group
            group, size = [], 0.0
        group.append(part)
        size += share
    if group:
        yield group


def _mean(alive: NDArray[np.bool_]) -> float:
    return float(alive.mean()) if len(alive) else 0.0


def _worth_folding(before: Segment, last: Segment) -> bool:
    if before.lists is not None or before.book is not last.book:
        return False
    return 2 * last.nbytes >= before.nbytes and before.nbytes + last.nbytes <= SMALL_BYTES

"""An index on disk: a folder of immutable files, and the manifest that names the valid ones.

A change writes its files first, each under a new name, and then replaces the manifest. A crash before that leaves the
old index and some unused files, which the next writer removes. A crash after that leaves the new index.
"""

from __future__ import annotations

import secrets
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import sync_folder
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.blocks import BlockFile
from maxsieve.storage.calibration import Calibration, Changes
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.lock import NAME as LOCK_NAME
from maxsieve.storage.lock import CheckLock, discard_lock, new_folder, writer_lock
from maxsieve.storage.manifest import NAME as MANIFEST_NAME
from maxsieve.storage.manifest import Extra, Manifest, SegmentEntry, kind_of, read_manifest, write_manifest
from maxsieve.storage.positions import Positions
from maxsieve.storage.segment_file import StoredSegment, map_segment, write_centroids, write_deleted, write_segment
from maxsieve.storage.segments import Layout, Merge, Segment
from maxsieve.storage.snapshot import Snapshot

ATTEMPTS = 20
MOST_BYTES = 1 << 30
"""Limit on a codebook or a calibration, which are read completely: enough for 60,000 queries of 32 tokens, d = 128."""


@dataclass(frozen=True, eq=False)
class StoredSnapshot(Snapshot):
    """A version of an index on disk: its manifest, and its mapped files. ``extras`` are those of the whole index."""

    segments: tuple[StoredSegment, ...]
    manifest: Manifest = field(kw_only=True)
    extras: dict[str, BlockFile] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, manifest: Manifest, segments: tuple[StoredSegment, ...] = (), **fields: Any) -> StoredSnapshot:
        """The version that a manifest describes."""
        # a restored index uses names again, hence the checksums
        names = (f"{entry.segment}-{entry.records_crc:08x}" for entry in manifest.segments)
        version = "-".join([manifest.uid, *names])
        changes = Changes(manifest.added, manifest.deleted)
        return cls(manifest.layout, segments, version, changes=changes, manifest=manifest, **fields)

    @property
    def id_type(self) -> type | None:
        """The type of its ids; None without documents."""
        return {"int": int, "str": str}.get(self.manifest.id_type or "") if self.n_documents else None

    def in_place(self) -> bool:
        """Whether the names of its files still refer to the same files."""
        return all(segment.in_place(segment.entry) for segment in self.segments) and all(
            file.in_place() for file in self.extras.values()
        )


class Directory:
    """The folder of one index. `snapshot` changes only when a method of this class moves to another one.

    ``next_file`` numbers the next file.
    """

    def __init__(self, path: Path, snapshot: StoredSnapshot, *, made: bool = False) -> None:
        self.path, self.snapshot, self._made = path, snapshot, made
        self.committed: Extra | None = None
        """The manifest that was committed last here: its name, and the CRC-32 of its bytes."""
        self.next_file = 1
        self._check_lock: CheckLock = lambda: None

    @property
    def manifest(self) -> Manifest:
        """The manifest of the current version."""
        return self.snapshot.manifest

    @property
    def segments(self) -> tuple[StoredSegment, ...]:
        """The segments of the current version."""
        return self.snapshot.segments

    @classmethod
    def create(cls, path: Path, layout: Layout) -> Directory:
        """Makes an empty index in a folder that is new or empty; a failure leaves it so."""
        path = path.absolute()
        manifest = Manifest(layout.dim, layout.store, layout.similarity, secrets.token_hex(8))
        directory = cls(path, StoredSnapshot.of(manifest), made=not path.exists())
        with new_folder(path, "an index", _check_empty, lambda _: directory._remove_all()):
            write_manifest(path, manifest)
            sync_folder(path)
            sync_folder(path.parent)
        return directory

    @classmethod
    def open(cls, path: Path) -> Directory:
        """Opens an index for reading; nothing is locked and nothing written."""
        path = path.absolute()
        return cls(path, _read_newest(path, None))

    def refresh(self) -> bool:
        """Moves to the newest version; False if it is the current one. A failure changes nothing."""
        newest = _read_newest(self.path, self.snapshot)
        changed = newest is not self.snapshot
        self.snapshot = newest
        return changed

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the writer's lock, at the newest version; files that no version refers to are removed."""
        with writer_lock(self.path) as self._check_lock:
            self.refresh()
            self.remove_strays()
            try:
                yield
            finally:
                # Whether or not an error came before the commit, the manifest on disk says which files count.
                with suppress(OSError, MaxsieveError):
                    self._check_lock()
                    self.refresh()
                    forget_failure()
                    self.remove_strays()

    def write(self, merge: Merge) -> SegmentEntry:
        """Writes a segment durably. It becomes part of the index when a manifest that names it is committed."""
        return write_segment(self.new_file(".segment"), merge)

    def load(self, entry: SegmentEntry) -> StoredSegment:
        """Maps a segment that was written."""
        known = next((segment for segment in self.segments if segment.entry.segment == entry.segment), None)
        return map_segment(self.path, entry, self.manifest, known)

    def without(self, entry: SegmentEntry, alive: NDArray[np.bool_]) -> SegmentEntry:
        """The segment with tombstones for all documents that are not alive, written durably."""
        path = self.new_file(".deleted")
        write_deleted(path, alive)
        return replace(entry, deleted=path.name)

    def write_centroids(self, entry: SegmentEntry, segment: Segment) -> SegmentEntry:
        """The segment with the centroids that one of its states has, written durably."""
        return write_centroids(self.new_file(".centroids"), entry, [segment.centroids])

    def write_extra(self, kind: str, extra: Codebook | Calibration) -> Extra:
        """Writes a file of the index as a whole, durably."""
        path = self.new_file("." + kind)
        crc = extra.write(path)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise ValueError(f"the {kind} takes {size:,} bytes, and at most {MOST_BYTES:,} are read: use fewer queries")
        return Extra(path.name, crc)

    def commit(self, entries: Sequence[SegmentEntry], id_type: Any, **others: Any) -> None:
        """Makes a new version of these segments, durable and visible to all that open or refresh from now on.

        ``others`` are further fields of the manifest that change.
        """
        name = self.name_manifest()
        fields = {"segments": tuple(entries), "id_type": id_type, "next_file": self.next_file} | others
        manifest = self.manifest.successor(**fields)
        snapshot = map_snapshot(self.path, manifest, self.snapshot)
        sync_folder(self.path)
        self._check_lock()
        self.committed = Extra(name, write_manifest(self.path, manifest, name))
        self.snapshot = snapshot
        try:
            sync_folder(self.path)
        except OSError as problem:
            doubt = f"the change was made, but may not survive a crash of the machine: {problem.strerror}"
            raise OSError(problem.errno, doubt, str(self.path)) from problem

    def name_manifest(self) -> str:
        """Under which name the next manifest is committed: that of the one before, which it replaces."""
        return MANIFEST_NAME

    def verify(self, advance: Callable[[int], None]) -> None:
        """Reads everything of the current version."""
        book = self.snapshot.codebook
        for segment in self.segments:
            segment.verify(advance)
            if book is not None and segment.tokens and segment.centroids.max() >= book.centroids:
                raise DamagedIndexError(f"{self.path / str(segment.entry.centroids)} names centroids that do not exist")
        for file in self.snapshot.extras.values():
            file.verify(advance)
        Positions(self.segments).read()

    def discard_if_empty(self) -> None:
        """Removes an index if no process has ever committed anything to it."""
        forget_failure()
        with suppress(OSError, MaxsieveError):
            with writer_lock(self.path):
                if read_manifest(self.path).generation:
                    return
                self._remove_all()
            if self._made:
                self.path.rmdir()

    def release(self) -> None:
        """Closes all files."""
        self.snapshot = StoredSnapshot.of(self.manifest)

    @property
    def nbytes(self) -> int:
        """Bytes of all files of the current version."""
        extras = sum(file.nbytes for file in self.snapshot.extras.values())
        return extras + sum(segment.file_bytes for segment in self.segments)

    def new_file(self, suffix: str) -> Path:
        """The path of the next file."""
        self._check_lock()
        name = f"{self.next_file:08d}{suffix}"
        self.next_file += 1
        return self.path / name

    def remove_strays(self) -> None:
        """Removes files that the manifest does not name, if possible. The caller holds the lock: nobody writes them.

        Only regular files with the names of index files are removed: an index never writes a link or a folder.
        """
        self.next_file = self.manifest.next_file
        wanted = self.manifest.files
        for path in self.path.iterdir():
            ours = kind_of(path.name.removesuffix(".tmp")) is not None or path.name == MANIFEST_NAME + ".tmp"
            if ours and path.name not in wanted:
                self._remove_stray(path)

    def _remove_stray(self, path: Path) -> None:
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                path.unlink()
        except PermissionError:  # Windows removes no file that is mapped, nor could another take its name
            number = path.name.partition(".")[0]
            self.next_file = max(self.next_file, int(number) + 1 if number.isdecimal() else 0)
        except OSError:
            pass

    def _remove_all(self) -> None:
        """Removes all files of an index without segments, the lock last. The caller holds the lock."""
        with suppress(OSError):
            self.remove_strays()
        with suppress(OSError):
            (self.path / MANIFEST_NAME).unlink()
        discard_lock(self.path)


def _read_newest(path: Path, known: StoredSnapshot | None) -> StoredSnapshot:
    """The newest version; ``known`` itself if that is the newest.

    A writer may remove files after we read the manifest and before we map them. Then there is a newer manifest.
    """
    for attempt in range(ATTEMPTS):
        manifest = read_manifest(path)
        if known is not None and manifest.uid != known.manifest.uid:
            raise MaxsieveError(f"{path} now holds another index; Index.open opens it")
        if known is not None and manifest == known.manifest and known.in_place():
            return known
        try:
            return map_snapshot(path, manifest, known)
        except FileNotFoundError as missing:
            if attempt + 1 == ATTEMPTS or read_manifest(path) == manifest:
                raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
    raise AssertionError("the last attempt returns or raises")


def map_snapshot(path: Path, manifest: Manifest, known: StoredSnapshot | None) -> StoredSnapshot:
    """The files of a manifest, mapped; those of a known version are not mapped again."""
    old = {} if known is None else {segment.entry.segment: segment for segment in known.segments}
    mapped: list[StoredSegment] = []
    for entry in manifest.segments:  # the frame of a generator has ``old`` in a closure, which `clear_frames` leaves
        mapped.append(map_segment(path, entry, manifest, old.get(entry.segment)))  # noqa: PERF401
    segments = tuple(mapped)
    for segment in segments:
        if segment.alive.any() and segment.ids.kind.__name__ != manifest.id_type:
            raise DamagedIndexError(
                f"{path / MANIFEST_NAME} says that ids are {manifest.id_type}, but {segment.entry.segment} has "
                f"{segment.ids.kind.__name__}"
            )
    extras: dict[str, BlockFile] = {}
    codebook: Codebook | None = None
    calibration: Calibration | None = None
    for kind, extra in manifest.extras.items():
        if known is not None and known.manifest.extras.get(kind) == extra and known.extras[kind].in_place():
            extras[kind] = known.extras[kind]
            codebook = known.codebook if kind == "codebook" else codebook
            calibration = known.calibration if kind == "calibration" else calibration
            continue
        extras[kind] = BlockFile(path / extra.name, extra.crc, at_most=MOST_BYTES)
        if kind == "codebook":
            codebook = Codebook.read(extras[kind], manifest.dim)
        else:
            calibration = Calibration.read(extras[kind], manifest.dim)
    if calibration is not None:
        there = sum(int((segment.alive & (segment.lengths > 0)).sum()) for segment in segments)
        if not calibration.fits(there, Changes(manifest.added, manifest.deleted)):
            raise DamagedIndexError(
                f"{path / MANIFEST_NAME} counts {manifest.added} documents added and {manifest.deleted} deleted since "
                f"a calibration with {calibration.documents}; but there are {there}"
            )
    return StoredSnapshot.of(manifest, segments, codebook=codebook, calibration=calibration, extras=extras)


def forget_failure() -> None:
    """On Windows, where a mapped file can't be removed: releases files that an error still holds by its traceback."""
    failure = sys.exc_info()[1]
    while LOCK_STAYS and failure is not None:
        traceback.clear_frames(failure.__traceback__)
        failure = failure.__context__


def _check_empty(path: Path) -> None:
    """Refuses a folder that is not empty. Files that a killed build left before its first commit do not count."""
    if any(entry.name not in (LOCK_NAME, MANIFEST_NAME + ".tmp") for entry in path.iterdir()):
        raise FileExistsError(f"{path} is not empty; Index.open opens an existing index")

"""An index on disk: a folder of immutable files, and the manifest that names the valid ones.

A change writes its files first, each under a new name, and then replaces the manifest. A crash before that leaves the
old index and some unused files, which the next writer removes. A crash after that leaves the new index.
"""

from __future__ import annotations

import secrets
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
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
from maxsieve.storage.listing import whole_parts
from maxsieve.storage.lists import SegmentLists
from maxsieve.storage.lock import NAME as LOCK_NAME
from maxsieve.storage.lock import CheckLock, discard_lock, new_folder, writer_lock
from maxsieve.storage.manifest import NAME as MANIFEST_NAME
from maxsieve.storage.manifest import Extra, Manifest, SegmentEntry, kind_of, read_manifest, write_manifest
from maxsieve.storage.positions import Positions
from maxsieve.storage.segment_file import (
    NO_BOOKS,
    StoredSegment,
    map_segment,
    write_centroids,
    write_deleted,
    write_segment,
)
from maxsieve.storage.segments import Layout, Merge, Segment
from maxsieve.storage.snapshot import Snapshot

ATTEMPTS = 20
MOST_BYTES = 1 << 30
"""Limit on a codebook or a calibration, which are read completely: enough for 60,000 queries of 32 tokens, d = 128."""


@dataclass(frozen=True, eq=False)
class StoredSnapshot(Snapshot):
    """A version of an index on disk: its manifest, and its mapped files. ``extras`` are those of the whole index.

    A store of residuals has ``books``: the codebooks of all its segments, by digest.
    """

    segments: tuple[StoredSegment, ...]
    manifest: Manifest = field(kw_only=True)
    extras: dict[str, BlockFile] = field(default_factory=dict, kw_only=True)
    books: dict[str, Codebook] = field(default_factory=dict, kw_only=True)

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
        lists = (part.file for _, part in whole_parts(self.segments) if part.file is not None)
        return all(segment.in_place(segment.entry) for segment in self.segments) and all(
            file.in_place() for file in (*self.extras.values(), *lists)
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
        self._written: dict[str, tuple[Extra, Codebook]] = {}
        """Codebooks of residuals that were written and not yet committed, by digest."""

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
                self._written.clear()
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
        books = self.snapshot.books | {digest: book for digest, (_, book) in self._written.items()}
        if entry.codebook is not None and entry.codebook not in books:
            self._check_digests()
        return map_segment(self.path, entry, self.manifest, known, books)

    def without(self, entry: SegmentEntry, alive: NDArray[np.bool_]) -> SegmentEntry:
        """The segment with tombstones for all documents that are not alive, written durably."""
        path = self.new_file(".deleted")
        write_deleted(path, alive)
        return replace(entry, deleted=path.name)

    def rewrite(self, segment: Segment) -> SegmentEntry:
        """Writes all documents of a segment durably, with tombstones for the deleted ones: positions stay the same."""
        entry = self.write(Merge([segment], [None]))
        return entry if segment.alive.all() else self.without(entry, segment.alive)

    def write_centroids(self, entry: SegmentEntry, segment: Segment) -> SegmentEntry:
        """The segment with the centroids that one of its states has, written durably."""
        entry = replace(entry, lists=None, lists_crc=0)
        return write_centroids(self.new_file(".centroids"), entry, [segment.centroids])

    def write_lists(self, entries: Sequence[SegmentEntry], segments: Sequence[Segment]) -> list[SegmentEntry]:
        """The entries of some segments with their lists, written durably as far as they are new; without centroids."""
        listed = [replace(entry, centroids=None, centroids_crc=0, lists=None, lists_crc=0) for entry in entries]
        for first, lists in whole_parts(segments):
            some = slice(first, first + lists.segments)
            name, crc = entries[first].lists, entries[first].lists_crc
            if lists.file is None or name is None:
                path = self.new_file(".lists")
                name, crc = path.name, lists.write(path)
            listed[some] = [replace(entry, lists=name, lists_crc=crc) for entry in listed[some]]
        return listed

    def write_extra(self, kind: str, extra: Codebook | Calibration) -> Extra:
        """Writes a file of the index as a whole, durably."""
        path = self.new_file("." + kind)
        crc = extra.write(path)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise ValueError(f"the {kind} takes {size:,} bytes, and at most {MOST_BYTES:,} are read: use fewer queries")
        written = Extra(path.name, crc)
        if isinstance(extra, Codebook) and extra.bits:
            self._written[extra.digest] = written, extra
        return written

    def commit(self, entries: Sequence[SegmentEntry], id_type: Any, **others: Any) -> None:
        """Makes a new version of these segments, durable and visible to all that open or refresh from now on.

        ``others`` are further fields of the manifest that change.
        """
        name = self.name_manifest()
        entries = without_broken_lists(entries, self.segments)
        fields = {"segments": tuple(entries), "id_type": id_type, "next_file": self.next_file} | others
        manifest = self.manifest.successor(**fields)
        known = self.manifest.codebooks | {digest: extra for digest, (extra, _) in self._written.items()}
        named, current = {entry.codebook for entry in entries}, manifest.extras.get("codebook")
        if not named - {None} <= known.keys():  # segments that were written name what their codebook is
            self._check_digests()
        used = {digest: extra for digest, extra in known.items() if digest in named or extra == current}
        manifest = replace(manifest, codebooks=used)
        snapshot = map_snapshot(self.path, manifest, self.snapshot)
        sync_folder(self.path)
        self._check_lock()
        self.committed = Extra(name, write_manifest(self.path, manifest, name))
        self.snapshot = snapshot
        self._written.clear()
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
            named_by = segment.book or (book if book is not None and book.is_tier0 else None)
            if named_by is not None and segment.tokens and segment.centroids.max() >= named_by.centroids:
                name = segment.entry.centroids or segment.entry.segment
                raise DamagedIndexError(f"{self.path / name} names centroids that do not exist")
        self._check_digests()
        for _, lists in whole_parts(self.segments):
            lists.verify(advance)
        for file in self.snapshot.extras.values():
            file.verify(advance)
        Positions(self.segments).read()

    def _check_digests(self) -> None:
        """Raises an error if a codebook of residuals is not the one that the manifest names."""
        for digest, stored in self.snapshot.books.items():
            if stored.digest != digest:
                raise DamagedIndexError(f"{self.path / self.manifest.codebooks[digest].name} is another codebook")

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
        others = [*self.snapshot.extras.values(), *(part.file for _, part in whole_parts(self.segments))]
        return sum(file.nbytes for file in others if file) + sum(segment.file_bytes for segment in self.segments)

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


def map_snapshot(
    path: Path, manifest: Manifest, known: StoredSnapshot | None, shared: Mapping[str, Codebook] = NO_BOOKS
) -> StoredSnapshot:
    """The files of a manifest, mapped; those of a known version are not mapped again.

    Codebooks of residuals may be ``shared``, by digest, with other shards: a search makes a table of each.
    """
    old = {} if known is None else {segment.entry.segment: segment for segment in known.segments}
    extras: dict[str, BlockFile] = {}
    books: dict[Extra, Codebook] = {}
    digests = {extra: digest for digest, extra in manifest.codebooks.items()}
    calibrations: list[Calibration] = []
    named = [*manifest.extras.items(), *(("codebook", extra) for extra in manifest.codebooks.values())]
    named += [("calibration", extra) for extra in manifest.filters]
    for kind, extra in dict.fromkeys(named):
        before = None if known is None else known.extras.get(extra.name)
        kept = before is not None and before.in_place() and extra in known_extras(known)
        file = before if kept and before is not None else BlockFile(path / extra.name, extra.crc, at_most=MOST_BYTES)
        extras[extra.name] = file
        if kind == "codebook":
            same_book = known_books(known).get(extra) if kept else shared.get(digests.get(extra, ""))
            if same_book is None or same_book.file is None or same_book.file.crc != extra.crc:
                same_book = Codebook.read(file, manifest.dim, manifest.layout.bits if manifest.codebooks else 0)
            books[extra] = same_book
        else:
            of_file = () if known is None or not kept else known.calibrations
            same = next((one for one in of_file if one.file is file), None)
            calibrations.append(same or Calibration.read(file, manifest.dim))
    codebook = None if (current := manifest.extras.get("codebook")) is None else books[current]
    by_digest = {digest: books[extra] for digest, extra in manifest.codebooks.items()}
    mapped: list[StoredSegment] = []
    for entry in manifest.segments:  # the frame of a generator has ``old`` in a closure, which `clear_frames` leaves
        mapped.append(map_segment(path, entry, manifest, old.get(entry.segment), by_digest))  # noqa: PERF401
    for segment in mapped:
        if segment.alive.any() and segment.ids.kind.__name__ != manifest.id_type:
            raise DamagedIndexError(
                f"{path / MANIFEST_NAME} says that ids are {manifest.id_type}, but {segment.entry.segment} has "
                f"{segment.ids.kind.__name__}"
            )
    if codebook is not None:
        _map_lists(path, codebook, mapped, known)
        if codebook.is_tier0 != all(entry.centroids is not None for entry in manifest.segments) and mapped:
            raise DamagedIndexError(f"{path / MANIFEST_NAME}: the segments do not have what the codebook is for")
    there = sum(int((segment.alive & (segment.lengths > 0)).sum()) for segment in mapped) if calibrations else 0
    for calibration in calibrations:
        if not calibration.fits(there, Changes(manifest.added, manifest.deleted)):
            raise DamagedIndexError(
                f"{path / MANIFEST_NAME} counts {manifest.added} documents added and {manifest.deleted} deleted since "
                f"a calibration with {calibration.documents}; but there are {there}"
            )
    return StoredSnapshot.of(
        manifest, tuple(mapped), codebook=codebook, calibrations=tuple(calibrations), extras=extras, books=by_digest,
        kept=manifest.kept,
    )  # fmt: skip


def without_broken_lists(entries: Sequence[SegmentEntry], known: Sequence[StoredSegment]) -> list[SegmentEntry]:
    """The entries without the files of lists of which a segment was merged or removed."""
    sizes = {segment.entry.lists: segment.lists.segments for segment in known if segment.lists is not None}
    whole: list[SegmentEntry] = []
    for name, run in groupby(entries, lambda entry: entry.lists):
        same = list(run)
        broken = name is not None and sizes.get(name, len(same)) != len(same)
        whole += [replace(entry, lists=None, lists_crc=0) for entry in same] if broken else same
    return whole


def known_extras(known: StoredSnapshot | None) -> tuple[Extra, ...]:
    """The files of the whole index that a version has."""
    manifest = None if known is None else known.manifest
    return () if manifest is None else (*manifest.extras.values(), *manifest.filters, *manifest.codebooks.values())


def known_books(known: StoredSnapshot | None) -> dict[Extra, Codebook]:
    """The codebooks that a version has, by their files."""
    if known is None:
        return {}
    current = {} if known.codebook is None else {known.manifest.extras["codebook"]: known.codebook}
    return current | {known.manifest.codebooks[digest]: book for digest, book in known.books.items()}


def _map_lists(path: Path, codebook: Codebook, segments: list[StoredSegment], known: StoredSnapshot | None) -> None:
    """Gives each segment its lists, if all segments of its part are here. Mapped files are not mapped again."""
    old = {} if known is None else {s.entry.lists: s.lists for s in known.segments if s.lists is not None}
    first = 0
    for (name, crc), run in groupby(segments, lambda segment: (segment.entry.lists, segment.entry.lists_crc)):
        same = list(run)
        if name is not None:
            lists = old.get(name)
            if lists is None or lists.file is None or not lists.file.in_place() or lists.file.crc != crc:
                lists = SegmentLists.read(BlockFile(path / name, crc), codebook.centroids)
            documents = sum(segment.documents for segment in same)
            if lists.segments == len(same) and lists.documents != documents:
                raise DamagedIndexError(f"{path / name} has lists of {lists.documents} documents, not {documents}")
            for place, segment in enumerate(same, first):
                if segment.lists is not lists:
                    segments[place] = segment.changed(lists=lists)
        first += len(same)


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

"""An index on disk: a folder of immutable files and the manifest that names the ones that count.

A change writes its files first, each under a name of its own, and then replaces the manifest. A crash before that
leaves the old index and some files nobody refers to, which the next writer removes; one after it leaves the new index.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import DamagedIndexError, IndexLockedError, MaxsieveError
from maxsieve.ids import Id
from maxsieve.segments import Similarity, Store
from maxsieve.storage.blocks import BlockFile, BlockWriter
from maxsieve.storage.lock import NAME as LOCK_NAME
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.manifest import NAME as MANIFEST_NAME
from maxsieve.storage.manifest import Manifest, Part, read_manifest, sync_folder, write_manifest
from maxsieve.storage.records import Records, write_records
from maxsieve.storage.segment_file import MappedSegment, Source, map_segment, write_segment

SUFFIXES = (".segment", ".deleted", ".records")
ATTEMPTS = 20


class MappedPart(NamedTuple):
    """One part of the index, ready to be read."""

    entry: Part
    mapped: MappedSegment
    alive: NDArray[np.bool_]
    records: Records | None


class Directory:
    """The folder of one index. `parts` are those of `manifest`; neither changes but through a method called here."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.manifest: Manifest
        self.parts: tuple[MappedPart, ...] = ()
        self._next_file = 1
        self._made = self._opened = False

    @classmethod
    def create(cls, path: Path, dim: int, store: Store, similarity: Similarity) -> Directory:
        """Makes an empty index in a folder that is new or empty."""
        directory = cls(path)
        path = directory.path
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file; an index needs a folder")
        directory._made = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        _check_empty(path)
        with writer_lock(path):
            _check_empty(path)
            directory.manifest = Manifest(dim, store, similarity, secrets.token_hex(8))
            write_manifest(path, directory.manifest)
            sync_folder(path.parent)
            directory._opened = True
        return directory

    @classmethod
    def open(cls, path: Path) -> Directory:
        """Opens an index for reading; nothing is locked and nothing written."""
        directory = cls(path)
        directory.refresh()
        return directory

    def refresh(self) -> bool:
        """Goes to the newest version; False if that is the one at hand. A failure changes nothing.

        A writer may remove files between our reading the manifest and mapping them: then there is a newer manifest.
        """
        known = {part.entry.segment: part for part in self.parts}
        for attempt in range(ATTEMPTS):
            manifest = read_manifest(self.path)
            if self._opened and manifest.uid != self.manifest.uid:
                raise MaxsieveError(f"{self.path} now holds another index; Index.open opens it")
            if self._opened and manifest == self.manifest:
                return False
            try:
                parts = tuple(self._map(entry, manifest, known.get(entry.segment)) for entry in manifest.parts)
            except FileNotFoundError as missing:
                if attempt + 1 < ATTEMPTS and read_manifest(self.path) != manifest:
                    continue
                raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
            self.manifest, self.parts, self._opened = manifest, parts, True
            return True
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the writer's lock, with the newest version at hand; files that no version refers to are removed."""
        with writer_lock(self.path):
            self.refresh()
            self.remove_strays()
            try:
                yield
            finally:
                with suppress(OSError, MaxsieveError):  # the change itself is done, or has failed for its own reasons
                    self.remove_strays()

    def write_part(self, sources: Sequence[Source], ids: Sequence[Id], records: Iterable[tuple[int, str]]) -> Part:
        """Writes a segment and its records, durably; it counts once a manifest with it is committed."""
        path = self._new_file(".segment")
        write_segment(path, sources, ids)
        entry = Part(
            path.name,
            documents=len(ids),
            tokens=int(sum(np.diff(s.segment.offsets)[s.alive].sum() for s in sources)),
        )
        beside = path.with_suffix(".records")
        crc = write_records(beside, records)
        return entry if crc is None else replace(entry, records=beside.name, records_crc=crc)

    def load(self, entry: Part) -> MappedPart:
        """A part that was written, mapped."""
        known = next((part for part in self.parts if part.entry.segment == entry.segment), None)
        return self._map(entry, self.manifest, known)

    def without(self, part: Part, alive: NDArray[np.bool_]) -> Part:
        """The part with tombstones for all documents that are not alive, written durably."""
        path = self._new_file(".deleted")
        writer = BlockWriter(path)
        try:
            writer.write("deleted", "<i8", 1, [np.flatnonzero(~alive)])
            writer.commit()
        except BaseException:
            writer.abandon()
            raise
        return replace(part, deleted=path.name)

    def commit(self, parts: Sequence[Part], id_type: Any) -> None:
        """Makes a new version of these parts, durable and visible to whoever opens or refreshes from now on."""
        sync_folder(self.path)
        manifest = self.manifest.successor(parts=tuple(parts), id_type=id_type, next_file=self._next_file)
        known = {part.entry.segment: part for part in self.parts}
        mapped = tuple(self._map(entry, manifest, known.get(entry.segment)) for entry in parts)
        write_manifest(self.path, manifest)
        self.manifest, self.parts = manifest, mapped

    def verify(self, advance: Callable[[int], None]) -> None:
        """Reads every checksum of the version at hand."""
        try:
            for part in self.parts:
                part.mapped.file.verify(advance)
                if part.entry.deleted is not None:
                    BlockFile(self.path / part.entry.deleted).verify(advance)
                if part.records is not None:
                    part.records.verify()
        except FileNotFoundError as missing:
            if read_manifest(self.path) == self.manifest:
                raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
            raise MaxsieveError(f"{self.path} has a newer version, without {missing.filename}: refresh() first") from None

    def discard_if_empty(self) -> None:
        """Removes an index that nothing was ever committed to."""
        with suppress(IndexLockedError), writer_lock(self.path):  # whoever holds the lock may be committing
            if read_manifest(self.path).generation == 0:
                self.remove_strays()
                for name in (MANIFEST_NAME, LOCK_NAME):
                    (self.path / name).unlink(missing_ok=True)
                if self._made:
                    self.path.rmdir()

    @property
    def nbytes(self) -> int:
        """Bytes of all files of the version at hand."""
        sizes = 0
        for name in self.manifest.files:
            with suppress(FileNotFoundError):  # a newer version may have no use for it
                sizes += os.path.getsize(self.path / name)
        return sizes

    def _map(self, entry: Part, manifest: Manifest, known: MappedPart | None) -> MappedPart:
        if known is not None and known.entry == entry:
            return known
        if known is not None:
            mapped, records = known.mapped, known.records
        else:
            mapped = map_segment(self.path / entry.segment, manifest.dim, manifest.store, entry.documents, entry.tokens)
            records = None if entry.records is None else Records(self.path / entry.records, entry.records_crc)
        alive = np.ones(entry.documents, np.bool_)
        if entry.deleted is not None:
            deleted = BlockFile(self.path / entry.deleted).array("deleted", "<i8")
            if len(deleted) and not (deleted.min() >= 0 and deleted.max() < entry.documents):
                raise DamagedIndexError(f"{self.path / entry.deleted} deletes documents that are not there")
            alive[deleted] = False
        return MappedPart(entry, mapped, alive, records)

    def _new_file(self, suffix: str) -> Path:
        name = f"{self._next_file:08d}{suffix}"
        self._next_file += 1
        return self.path / name

    def remove_strays(self) -> None:
        """Removes files that no manifest names. Under the lock, so nobody else is writing them.

        The one on disk may be newer than the one at hand, if a commit failed when it was all but done.
        """
        current = read_manifest(self.path)
        self._next_file = current.next_file
        wanted = current.files | self.manifest.files
        for path in self.path.iterdir():
            if path.name not in wanted and (path.suffix in SUFFIXES or path.suffix == ".tmp"):
                path.unlink(missing_ok=True)


def _check_empty(path: Path) -> None:
    """Refuses a folder in which there is more than a build leaves behind that was killed before it began."""
    if any(one.name not in (LOCK_NAME, MANIFEST_NAME + ".tmp") for one in path.iterdir()):
        raise FileExistsError(f"{path} is not empty; Index.open opens an index that is there")

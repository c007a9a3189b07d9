"""An index on disk: a folder of immutable files and the manifest that names the ones that count.

A change writes its files first, each under a name of its own, and then replaces the manifest. A crash before that
leaves the old index and some files nobody refers to, which the next writer removes; one after it leaves the new index.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import sync_folder
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile, BlockWriter
from maxsieve.storage.lock import NAME as LOCK_NAME
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.manifest import FILE_NAME, Manifest, Part, read_manifest, write_manifest
from maxsieve.storage.manifest import NAME as MANIFEST_NAME
from maxsieve.storage.records import Records, write_records
from maxsieve.storage.segment_file import MappedSegment, Source, map_segment, write_segment
from maxsieve.storage.segments import Similarity, Store

ATTEMPTS = 20


class MappedPart(NamedTuple):
    """One part of the index, ready to be read."""

    entry: Part
    mapped: MappedSegment
    deleted: BlockFile | None
    alive: NDArray[np.bool_]
    records: Records | None

    @property
    def files(self) -> list[BlockFile | Records]:
        """All its files, which stay readable whatever a writer removes."""
        return [file for file in (self.mapped.file, self.deleted, self.records) if file is not None]


class Version(NamedTuple):
    """A manifest and its parts: one name, so that nothing can come between the two."""

    manifest: Manifest
    parts: tuple[MappedPart, ...]


class Directory:
    """The folder of one index. `manifest` and `parts` are those of one version until a method here goes to another."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._version: Version | None = None
        self._next_file = 1
        self._made = False

    @property
    def manifest(self) -> Manifest:
        """The manifest of the version at hand."""
        return self._at_hand.manifest

    @property
    def parts(self) -> tuple[MappedPart, ...]:
        """The parts of the version at hand."""
        return self._at_hand.parts

    @classmethod
    def create(cls, path: Path, dim: int, store: Store, similarity: Similarity) -> Directory:
        """Makes an empty index in a folder that is new or empty; a failure leaves it so."""
        directory = cls(path)
        path = directory.path
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file; an index needs a folder")
        directory._made = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        _check_empty(path)
        try:
            with writer_lock(path):
                _check_empty(path)
                directory._version = Version(Manifest(dim, store, similarity, secrets.token_hex(8)), ())
                try:
                    write_manifest(path, directory.manifest)
                    sync_folder(path)
                    sync_folder(path.parent)
                except BaseException:
                    directory._remove_all()
                    raise
        except BaseException:
            directory._remove_folder()
            raise
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
        known = {part.entry.segment: part for part in self.parts} if self._version else {}
        for attempt in range(ATTEMPTS):
            manifest = read_manifest(self.path)
            if self._version is not None and manifest.uid != self.manifest.uid:
                raise MaxsieveError(f"{self.path} now holds another index; Index.open opens it")
            if self._version is not None and manifest == self.manifest:
                return False
            try:
                parts = tuple(self._map(entry, manifest, known.get(entry.segment)) for entry in manifest.parts)
            except FileNotFoundError as missing:
                if attempt + 1 < ATTEMPTS and read_manifest(self.path) != manifest:
                    continue
                raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
            self._version = Version(manifest, parts)
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
                # Whether or not an error came before the commit, the manifest on disk says which files count.
                with suppress(OSError, MaxsieveError):
                    self.refresh()
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
        with BlockWriter(path) as writer:
            writer.write("deleted", "<i8", 1, [np.flatnonzero(~alive)])
            writer.commit()
        return replace(part, deleted=path.name)

    def commit(self, parts: Sequence[Part], id_type: Any) -> None:
        """Makes a new version of these parts, durable and visible to whoever opens or refreshes from now on."""
        manifest = self.manifest.successor(parts=tuple(parts), id_type=id_type, next_file=self._next_file)
        known = {part.entry.segment: part for part in self.parts}
        mapped = tuple(self._map(entry, manifest, known.get(entry.segment)) for entry in parts)
        sync_folder(self.path)
        write_manifest(self.path, manifest)
        self._version = Version(manifest, mapped)
        try:
            sync_folder(self.path)
        except OSError as problem:
            doubt = f"the change was made, but may not survive a crash of the machine: {problem.strerror}"
            raise OSError(problem.errno, doubt, str(self.path)) from problem

    def verify(self, advance: Callable[[int], None]) -> None:
        """Reads every checksum of the version at hand."""
        for part in self.parts:
            for file in part.files:
                file.verify(advance)

    def discard_if_empty(self) -> None:
        """Removes an index that nothing was ever committed to, by whomever."""
        with suppress(OSError, MaxsieveError):
            with writer_lock(self.path):
                if read_manifest(self.path).generation:
                    return
                self._remove_all()
            self._remove_folder()

    def release(self) -> None:
        """Lets go of all files."""
        self._version = Version(self.manifest, ())

    @property
    def nbytes(self) -> int:
        """Bytes of all files of the version at hand."""
        return sum(file.nbytes for part in self.parts for file in part.files)

    @property
    def _at_hand(self) -> Version:
        assert self._version is not None, "a directory is opened or created before it is used"
        return self._version

    def _map(self, entry: Part, manifest: Manifest, known: MappedPart | None) -> MappedPart:
        if known is not None and known.entry == entry:
            return known
        if known is not None:
            mapped, records = known.mapped, known.records
        else:
            mapped = map_segment(self.path / entry.segment, manifest.dim, manifest.store, entry.documents, entry.tokens)
            records = None
            if entry.records is not None:
                records = Records(self.path / entry.records, entry.records_crc, entry.documents)
        alive = np.ones(entry.documents, np.bool_)
        deleted = None
        if entry.deleted is not None:
            deleted = BlockFile(self.path / entry.deleted)
            deleted.verify(lambda _: None)  # it is read here anyway, and by nobody later
            gone = deleted.array("deleted", "<i8")
            if len(gone) and not (gone.min() >= 0 and gone.max() < entry.documents):
                raise DamagedIndexError(f"{deleted.path} deletes documents that are not there")
            alive[gone] = False
        return MappedPart(entry, mapped, deleted, alive, records)

    def _new_file(self, suffix: str) -> Path:
        name = f"{self._next_file:08d}{suffix}"
        self._next_file += 1
        return self.path / name

    def remove_strays(self) -> None:
        """Removes files that the manifest does not name, if it can. Under the lock: nobody else is writing them."""
        self._next_file = self.manifest.next_file
        wanted = self.manifest.files
        for path in self.path.iterdir():
            name = path.name.removesuffix(".tmp")
            if path.name not in wanted and (FILE_NAME.fullmatch(name) or path.name == MANIFEST_NAME + ".tmp"):
                with suppress(OSError):
                    path.unlink()

    def _remove_all(self) -> None:
        """Removes everything of an index without parts. Under the lock, which goes last."""
        with suppress(OSError):
            self.remove_strays()
        for name in (MANIFEST_NAME, LOCK_NAME):
            with suppress(OSError):
                (self.path / name).unlink()

    def _remove_folder(self) -> None:
        if self._made:
            with suppress(OSError):
                self.path.rmdir()


def _check_empty(path: Path) -> None:
    """Refuses a folder in which there is more than a build leaves behind that was killed before it began."""
    if any(one.name not in (LOCK_NAME, MANIFEST_NAME + ".tmp") for one in path.iterdir()):
        raise FileExistsError(f"{path} is not empty; Index.open opens an index that is there")

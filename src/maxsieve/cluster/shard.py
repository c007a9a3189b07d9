"""A shard: a folder of segments like an index. The manifest of the corpus names the current version of each shard.

A change starts from the version that the corpus names, writes new files and a manifest with a unique name, and returns
the new `ShardVersion`. The change becomes visible, and old files are removed, only when the corpus is committed with
this version. So a change can run in any process and more than once, and a failed change has no effect. This module
takes no lock: the process that commits the corpus holds it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.manifest import ClusterManifest, ShardVersion, folder_name
from maxsieve.common.files import check_own_folder, sync_folder
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.directory import Directory, StoredSnapshot, forget_failure, map_snapshot
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.manifest import EXTRA_KINDS, KINDS, SHARD_FORMAT, Manifest, read_version
from maxsieve.storage.segment_file import NO_BOOKS
from maxsieve.storage.segments import SEQUENCE, Layout, Segment

SHARDS = "shards"
CLOCK_BITS = 8
"""The number of random low bits of a file number. Its high bits are the microseconds since 1970."""


def number_from_clock() -> int:
    """A unique number for a file: no other attempt to write this shard uses the same one."""
    return (time.time_ns() // 1000 << CLOCK_BITS) + secrets.randbelow(1 << CLOCK_BITS)


def shard_folder(root: Path, folder: str) -> Path:
    """The folder of a shard's files. A link in place of a folder is damage."""
    return check_own_folder(check_own_folder(root / SHARDS) / folder)


def read_shard(root: Path, version: ShardVersion) -> Manifest:
    """The manifest of a version, checked; `FileNotFoundError` if the files of this version were removed."""
    return read_version(shard_folder(root, version.folder) / version.manifest, SHARD_FORMAT, version.crc)


def open_shard(
    root: Path,
    version: ShardVersion,
    known: StoredSnapshot | None = None,
    books: Mapping[str, Codebook] = NO_BOOKS,
) -> StoredSnapshot:
    """Maps a version of a shard. Files that a ``known`` version of the same shard has mapped are not mapped again.

    ``books`` are codebooks of residuals, by digest, that other shards have mapped. `FileNotFoundError` if files are
    missing: then the corpus has a newer version, or is damaged.
    """
    opened = map_snapshot(shard_folder(root, version.folder), read_shard(root, version), known, books)
    if counted(version, opened) != version:
        raise DamagedIndexError(
            f"{root / SHARDS / version.folder / version.manifest}: counts of documents or tokens differ "
            "from the manifest of the corpus"
        )
    return opened


def open_to_change(root: Path, version: ShardVersion) -> StoredSnapshot:
    """`open_shard` while the corpus is locked. No other process removes files then, so a missing file is damage."""
    try:
        return open_shard(root, version)
    except FileNotFoundError as missing:
        raise DamagedIndexError(f"{missing.filename or missing} is missing") from None


def counted(version: ShardVersion, opened: StoredSnapshot) -> ShardVersion:
    """The version with the counts of documents that are not deleted, and of their tokens."""
    return changed(version, documents=opened.n_documents, tokens=opened.n_tokens, searchable=opened.n_searchable)


def files_of(root: Path, version: ShardVersion) -> set[Path]:
    """All files that a version of a shard needs."""
    folder = root / SHARDS / version.folder
    return {folder / name for name in (version.manifest, *read_shard(root, version).files)}


def remove_new(root: Path, made: Iterable[ShardVersion], kept: Iterable[ShardVersion]) -> None:
    """Removes the files of the versions ``made`` that no version of ``kept`` needs, unless this was done before."""
    wanted = {path for version in set(kept) for path in files_of(root, version)}
    for version in made:
        with suppress(FileNotFoundError):
            for path in files_of(root, version) - wanted:
                with suppress(OSError):  # Windows can't remove a mapped file: it is removed later, when it is old
                    path.unlink(missing_ok=True)


class ShardDirectory(Directory):
    """A shard's folder as a `Directory` of storage. Each commit writes a new manifest, which `written` describes."""

    def __init__(self, root: Path, base: ShardVersion, version: StoredSnapshot) -> None:
        super().__init__(shard_folder(root, base.folder), version)
        self._base = base
        self.next_file = version.manifest.next_file
        self._numbers: list[int] = []

    @classmethod
    def at(cls, root: Path, base: ShardVersion) -> ShardDirectory:
        """The directory at an existing version."""
        return cls(root, base, open_to_change(root, base))

    @classmethod
    def empty(cls, root: Path, corpus: ClusterManifest, shard: int) -> ShardDirectory:
        """The directory of an empty shard. The folder is created if it is missing."""
        folder = folder_name(shard)
        path = shard_folder(root, folder)
        if not path.exists():
            path.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent)
        manifest = Manifest(corpus.dim, corpus.store, corpus.similarity, corpus.uid, sequenced=True)
        return cls(root, ShardVersion(folder, "", 0), StoredSnapshot.of(manifest))

    @property
    def written(self) -> ShardVersion:
        """The last version that was committed here, or the base version if there was no commit."""
        if self.committed is None:
            return self._base
        name, crc = self.committed
        return counted(changed(self._base, manifest=name, crc=crc), self.snapshot)

    def new_file(self, suffix: str) -> Path:
        """The path of the next file. Its number is from the clock, so that it differs from those of failed attempts."""
        self.next_file = max(self.next_file, number_from_clock())
        self._numbers.append(self.next_file)
        return super().new_file(suffix)

    def name_manifest(self) -> str:
        """A unique file name for a manifest."""
        return self.new_file(".manifest").name

    def refresh(self) -> bool:
        """False: the corpus decides which version is current, and the base version never changes here."""
        return False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Takes no lock, because the writer of the corpus has it. Removes files that were written but are not used."""
        try:
            yield
        except BaseException:
            self.release()
            forget_failure()
            self._remove_all_but(set())
            raise
        self._remove_all_but({*self.manifest.files, self.written.manifest})

    def _remove_all_but(self, wanted: set[str]) -> None:
        """Removes files that were written here and are in no committed version."""
        for number in self._numbers:
            for kind in (*KINDS, *EXTRA_KINDS, "manifest"):
                if (name := f"{number:08d}.{kind}") not in wanted:
                    with suppress(OSError):
                        (self.path / name).unlink(missing_ok=True)

    def remove_strays(self) -> None:
        """Does nothing: only the corpus knows which files other versions need."""


def sequenced(segment: Segment, layout: Layout, numbers: NDArray[np.int64]) -> Segment:
    """A segment of a shard: its documents have these sequence numbers."""
    blocks = {**segment.blocks, SEQUENCE.name: numbers}
    kinds = layout._replace(sequenced=True).kinds
    return Segment(layout.dim, kinds, segment.offsets, blocks, segment.ids, segment.metadata, segment.alive)


def append_to_shard(
    root: Path, base: ShardVersion, segment: Segment | None, replace: bool, delete: list[Id]
) -> ShardVersion:
    """Makes a version with more documents, whose ids must belong to this shard, and without some others.

    As `Index.add`: a known id is an error unless ``replace``, an id in ``delete`` must exist, and all documents are
    added or none.
    """
    directory = ShardDirectory.at(root, base)
    with DiskStorage(directory).writing(replace=replace, delete=delete, stepwise=False) as writer:
        if segment is not None:
            writer.admit(list(segment.ids))
            writer.append(segment)
    return directory.written


def delete_from_shard(root: Path, base: ShardVersion, ids: list[Id]) -> ShardVersion:
    """Makes a version without some documents; `KeyError` for an unknown id."""
    directory = ShardDirectory.at(root, base)
    DiskStorage(directory).delete(ids)
    return directory.written


def compact_shard(root: Path, base: ShardVersion) -> ShardVersion:
    """Makes a version without deleted documents, in few segments; the same version if nothing would change."""
    directory = ShardDirectory.at(root, base)
    DiskStorage(directory).compact(progress=False)
    return directory.written


def list_shard(root: Path, base: ShardVersion) -> ShardVersion:
    """Makes a version with lists of all documents; the same version if they have lists, or there is no codebook."""
    directory = ShardDirectory.at(root, base)
    DiskStorage(directory).list_documents()
    return directory.written


def code_shard(root: Path, base: ShardVersion, codebook: Codebook) -> ShardVersion:
    """Makes a version with a codebook, and with lists by its centroids."""
    directory = ShardDirectory.at(root, base)
    DiskStorage(directory).replace_codebook(codebook)
    return directory.written

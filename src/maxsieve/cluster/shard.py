"""A shard: a folder of segments like an index. The manifest of the corpus names the current version of each shard.

A change starts from the version that the corpus names, writes new files and a manifest with a unique name, and returns
the new `ShardVersion`. The change becomes visible, and old files are removed, only when the corpus is committed with
this version. So a change can run in any process and more than once, and a failed change has no effect. This module
takes no lock: the process that commits the corpus holds it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Documents
from maxsieve.cluster.manifest import ClusterManifest, ShardVersion, folder_name
from maxsieve.common.files import check_own_folder, sync_folder
from maxsieve.common.threads import thread_count
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.builder import Blocks, SegmentBuilder
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.directory import Directory, Version, forget_failure, map_version
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.manifest import EXTRA_KINDS, KINDS, SHARD_FORMAT, Manifest, read_version
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Addition

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


def open_shard(root: Path, version: ShardVersion, known: Version | None = None) -> Version:
    """Maps a version of a shard. Files that a ``known`` version of the same shard has mapped are not mapped again.

    `FileNotFoundError` if its files are missing: then the corpus has a newer version, or is damaged.
    """
    opened = map_version(shard_folder(root, version.folder), read_shard(root, version), known)
    if counted(version, opened) != version:
        raise DamagedIndexError(
            f"{root / SHARDS / version.folder / version.manifest}: counts of documents or tokens differ "
            "from the manifest of the corpus"
        )
    return opened


def open_to_change(root: Path, version: ShardVersion) -> Version:
    """`open_shard` while the corpus is locked. No other process removes files then, so a missing file is damage."""
    try:
        return open_shard(root, version)
    except FileNotFoundError as missing:
        raise DamagedIndexError(f"{missing.filename or missing} is missing") from None


def counted(version: ShardVersion, opened: Version) -> ShardVersion:
    """The version with the counts of documents that are not deleted, and of their tokens."""
    state = Snapshot(opened.manifest.dim, opened.segments)
    lengths = state.lengths[state.alive]
    return changed(
        version,
        documents=len(lengths),
        tokens=int(lengths.sum()),
        searchable=int(np.count_nonzero(lengths)),
    )


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

    def __init__(self, root: Path, base: ShardVersion, version: Version) -> None:
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
        return cls(root, ShardVersion(folder, "", 0), Version(manifest, (), None, None, {}))

    @property
    def written(self) -> ShardVersion:
        """The last version that was committed here, or the base version if there was no commit."""
        if self.committed is None:
            return self._base
        name, crc = self.committed
        return counted(changed(self._base, manifest=name, crc=crc), self.version)

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


class ShardAddition:
    """An addition of documents to a shard. After the block of `adding_to_shard`, ``version`` is the new version."""

    def __init__(self, addition: Addition, builder: SegmentBuilder) -> None:
        self._addition, self._builder = addition, builder
        self.version: ShardVersion | None = None

    def arrive(self, ids: list[Id], texts: list[str | None] | None, sequence: NDArray[np.int64]) -> None:
        """Takes ids, metadata as JSON and sequence numbers of documents that come later. Checks the ids."""
        if len(sequence) != len(ids):
            raise ValueError(f"there are {len(sequence)} sequence numbers for {len(ids)} ids")
        self._addition.arrive(ids, [None] * len(ids) if texts is None else texts, sequence)

    def add_quantised(self, offsets: NDArray[np.int64], blocks: Blocks) -> None:
        """Adds the next announced documents as one segment with finished blocks, except the sequence numbers."""
        self._addition.add(offsets, blocks)

    def take(self, documents: Documents) -> None:
        """Adds all announced documents."""
        self._addition.take(documents, self._builder, lambda _: None)


@contextmanager
def adding_to_shard(
    root: Path,
    base: ShardVersion,
    *,
    replace: bool = False,
    delete: Iterable[Id] = (),
    threads: int | None = None,
) -> Iterator[ShardAddition]:
    """Adds a stream of documents to a shard."""
    directory = ShardDirectory.at(root, base)
    manifest, count = directory.manifest, thread_count(threads)
    with DiskStorage(directory).adding(None, None, replace, list(delete), stepwise=False) as addition:
        builder = SegmentBuilder(manifest.dim, manifest.store, manifest.similarity, count, addition.name, addition.add)
        shard = ShardAddition(addition, builder)
        yield shard
        builder.finish()
    shard.version = directory.written


def add_to_shard(
    root: Path,
    base: ShardVersion,
    documents: Documents,
    ids: list[Id],
    texts: list[str | None] | None,
    sequence: NDArray[np.int64],
    *,
    replace: bool = False,
    delete: Iterable[Id] = (),
    threads: int | None = None,
) -> ShardVersion:
    """Makes a version with more documents, whose ids must belong to this shard. ``sequence`` has the number of each.

    As `Index.add`: a known id is an error unless ``replace``, an id in ``delete`` must exist, and all documents are
    added or none.
    """
    with adding_to_shard(root, base, replace=replace, delete=delete, threads=threads) as shard:
        shard.arrive(ids, texts, sequence)
        shard.take(documents)
    return shard.version or base


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


def name_tokens_of_shard(root: Path, base: ShardVersion, codebook: Codebook) -> ShardVersion:
    """Makes a version with a codebook, and with the centroid of each token by this codebook."""

    def named(state: Snapshot) -> Snapshot:
        segments = [codebook.name_tokens(segment, thread_count(None)) for segment in state.segments]
        return changed(state, segments=segments, codebook=codebook)

    directory = ShardDirectory.at(root, base)
    DiskStorage(directory).replace_tiers(named)
    return directory.written

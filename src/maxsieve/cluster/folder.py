"""The folder of a corpus in shards. One manifest names the current version of each shard; to replace it is to commit.

Readers need no lock. A writer holds the lock of the folder, has shards changed (in any process), and commits once.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM
from maxsieve.cluster.leftovers import (
    check_empty,
    files_needed,
    remove_created,
    remove_empty_folders,
    remove_unneeded,
)
from maxsieve.cluster.manifest import (
    NAME,
    ClusterManifest,
    ShardVersion,
    folder_name,
    read_cluster,
    write_cluster,
)
from maxsieve.cluster.running import Change, Run, in_turn
from maxsieve.cluster.shard import (
    SHARDS,
    ShardDirectory,
    compact_shard,
    delete_from_shard,
    number_from_clock,
    open_shard,
    read_shard,
    remove_new,
)
from maxsieve.cluster.sharding import MOST_SHARDS, by_shard, shard_of, shards_of
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.files import PathLike, sync_folder
from maxsieve.errors import DamagedIndexError, MaxsieveError, StaleVersionError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile
from maxsieve.storage.calibration import NO_CHANGES, Calibration, Changes
from maxsieve.storage.directory import MOST_BYTES, Version
from maxsieve.storage.lock import CheckLock, writer_lock
from maxsieve.storage.manifest import Extra, Manifest
from maxsieve.storage.positions import Positions
from maxsieve.storage.segments import Similarity, Store
from maxsieve.storage.snapshot import Snapshot

T = TypeVar("T")


class Opened(NamedTuple):
    """A version of a shard, mapped into memory, and the positions of its ids."""

    named: ShardVersion
    version: Version
    positions: Positions


class ShardedFolder:
    """A corpus in shards at one version. The version changes only by methods of this object.

    Only one thread writes at a time. Writers in other processes are excluded by the lock of the folder. An unpickled
    object is the same folder at its newest version.

    >>> import tempfile
    >>> folder = ShardedFolder.create(tempfile.mkdtemp() + "/corpus", 8, shards=3)
    >>> len(folder.manifest.shards), folder.manifest.documents
    (3, 0)
    """

    def __init__(self, path: Path, manifest: ClusterManifest) -> None:
        self.path, self.manifest = path, manifest
        self._turn = threading.RLock()
        self._moving = threading.Lock()  # from reading or replacing the manifest until it is the current version
        self._writers = 0
        self._check_lock: CheckLock = lambda: None
        self._opened: dict[int, Opened] = {}
        self._whole: tuple[ClusterManifest, Snapshot] | None = None
        self._retired: set[Path] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedFolder.open, (self.path,)

    @classmethod
    def create(
        cls,
        path: PathLike,
        dim: int,
        *,
        shards: int,
        store: Store = "float32",
        similarity: Similarity = "dot",
    ) -> ShardedFolder:
        """Creates an empty corpus in a new or empty folder. A failure leaves the folder as it was."""
        dim = as_count(dim, "dim", at_least=1, at_most=MAX_DIM)
        check_choice(store, "store", get_args(Store))
        check_choice(similarity, "similarity", get_args(Similarity))
        count = as_count(shards, "shards", at_least=1, at_most=MOST_SHARDS)
        root = Path(path).absolute()
        if root.exists() and not root.is_dir():
            raise FileExistsError(f"{root} is a file; a corpus in shards needs a folder")
        made = not root.exists()
        root.mkdir(parents=True, exist_ok=True)
        check_empty(root)
        corpus = ClusterManifest(dim, store, similarity, secrets.token_hex(8))
        try:
            with writer_lock(root):
                check_empty(root)
                try:
                    versions = tuple(empty_shard(root, corpus, shard) for shard in range(count))
                    folder = cls(root, replace(corpus, shards=versions))
                    write_cluster(root, folder.manifest)
                    sync_folder(root)
                    sync_folder(root.parent)
                except BaseException:
                    remove_created(root)
                    raise
        except BaseException:
            if made:
                with suppress(OSError):
                    root.rmdir()
            raise
        return folder

    @classmethod
    def open(cls, path: PathLike) -> ShardedFolder:
        """Opens an existing corpus at its newest version. This locks nothing and writes nothing."""
        root = Path(path).absolute()
        return cls(root, read_cluster(root))

    def at(self, manifest: ClusterManifest) -> ShardedFolder:
        """The same corpus at another version. Files that are mapped here are not mapped again."""
        other = ShardedFolder(self.path, manifest)
        other._opened = dict(self._opened)
        return other

    def refresh(self) -> bool:
        """Goes to the newest version; False if that is already the current one."""
        with self._moving:
            newest = read_cluster(self.path)
            if newest.uid != self.manifest.uid:
                raise MaxsieveError(f"{self.path} now holds another corpus; open it again")
            changed = newest != self.manifest
            self._go_to(newest)
            return changed

    def _go_to(self, manifest: ClusterManifest) -> None:
        """Makes a version the current one, and closes shards that it does not have."""
        self.manifest = manifest
        for shard in [one for one in list(self._opened) if one >= len(manifest.shards)]:
            self._opened.pop(shard, None)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the writer's lock, and goes to the newest version. The lock is reentrant."""
        with self._turn:
            if self._writers:
                yield
                return
            with writer_lock(self.path) as self._check_lock:
                self.refresh()
                self._writers += 1
                try:
                    yield
                finally:
                    self._writers -= 1

    def commit(
        self,
        changed: Mapping[int, ShardVersion],
        *,
        sequence: int | None = None,
        shards: int | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """Makes new versions of some shards visible, all at once and durably. Needs the lock (`writing`).

        sequence
            the sequence number of the next document: that of the last one that was added, plus 1.
        shards
            the new number of shards. If it differs from the old one, ``changed`` must have all shards.
        calibration
            a new calibration of the current corpus. An older one is removed if the codebook has changed.

        The type of ids and the codebook are read from the manifests of the shards, and must agree. If the commit fails,
        the files of the new versions are removed.
        """
        if not self._writers:
            raise RuntimeError("commit needs the lock: call it while writing()")
        try:
            self._commit(changed, sequence, shards, calibration)
        except BaseException:
            self.discard(changed.values())
            raise

    def _commit(
        self,
        changed: Mapping[int, ShardVersion],
        sequence: int | None,
        shards: int | None,
        calibration: Calibration | None,
    ) -> None:
        old = self.manifest
        count = len(old.shards) if shards is None else shards
        versions = tuple(changed[i] if i in changed else old.shards[i] for i in range(count))
        after = old.next_sequence if sequence is None else sequence
        if after < old.next_sequence:
            raise ValueError(f"sequence is {after}, but documents have numbers up to {old.next_sequence} already")
        news = {version: read_shard(self.path, version) for version in changed.values()}
        codebook = _agreed("codebooks", [_codebook(news[v]) if v in news else old.codebook for v in versions])
        types = [news[v].id_type if v in news else old.id_type for v in versions if v.documents]
        if sum(version.documents for version in versions) > old.documents + after - old.next_sequence:
            raise ValueError(f"sequence is {after}, which leaves no number for some of the documents that were added")
        manifest = old.successor(
            next_sequence=after, shards=versions, codebook=codebook, id_type=_agreed("types of ids", types)
        )
        manifest = self._with_calibration(manifest, old, calibration)
        with self._moving:
            if read_cluster(self.path) != old:
                raise MaxsieveError(f"{self.path} was changed by a writer without the lock; nothing was committed")
            sync_folder(self.path)
            self._check_lock()
            write_cluster(self.path, manifest)
            self._go_to(manifest)
        try:
            sync_folder(self.path)
        except OSError as problem:
            message = f"the change was made, but may not survive a crash of the machine: {problem.strerror}"
            raise OSError(problem.errno, message, str(self.path)) from problem
        self.remove_strays(old)

    def change(
        self, change: Change, calls: Mapping[int, tuple[Any, ...]], run: Run = in_turn
    ) -> dict[int, ShardVersion]:
        """Makes new versions of some shards by a function, with arguments for each shard. Does not commit them.

        If one call fails, the files of the other new versions are removed, and nothing has changed.
        """
        made: dict[int, ShardVersion] = {}
        try:
            made.update(run(change, calls))  # keeps the versions that were made before a failure
        except BaseException:
            self.discard(made.values())
            raise
        return made

    def discard(self, made: Iterable[ShardVersion]) -> None:
        """Removes the files of versions that will not be committed. Files of committed versions are never removed."""
        with suppress(OSError, MaxsieveError):
            remove_new(self.path, made, [*self.manifest.shards, *read_cluster(self.path).shards])

    def delete(self, ids: list[Id], run: Run = in_turn) -> None:
        """Deletes all these documents or, if an id is unknown, none."""
        with self.writing():
            shares = by_shard(ids, len(self.manifest.shards))
            calls = {
                shard: (self.path, self.manifest.shards[shard], [ids[i] for i in places])
                for shard, places in shares.items()
            }
            self.commit(self.change(delete_from_shard, calls, run))

    def compact(self, run: Run = in_turn) -> None:
        """Frees the disk space of deleted and replaced documents, and merges small segments. Answers stay the same."""
        with self.writing():
            calls = {shard: (self.path, version) for shard, version in enumerate(self.manifest.shards)}
            made = self.change(compact_shard, calls, run)
            changed = {shard: version for shard, version in made.items() if version != self.manifest.shards[shard]}
            if changed:
                self.commit(changed)

    def shard(self, shard: int) -> Opened:
        """A shard of the current version, mapped; `StaleVersionError` if its files were removed for a newer version."""
        named, known = self.manifest.shards[shard], self._opened.get(shard)
        if known is not None and known.named == named:
            return known
        try:
            version = open_shard(self.path, named, None if known is None else known.version)
        except FileNotFoundError as missing:
            if read_cluster(self.path).shards[shard:][:1] != (named,):
                raise StaleVersionError(f"{self.path} has a newer version than {self.manifest.generation}") from None
            raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
        self._check_fits(shard, version.manifest)
        opened = Opened(named, version, Positions(version.segments))
        self._opened[shard] = opened
        return opened

    def snapshot(self, shards: Sequence[int] | None = None) -> Snapshot:
        """Some shards, or all, as one snapshot with all their segments. It has the documents' sequence numbers."""
        which = range(len(self.manifest.shards)) if shards is None else shards
        opened = [self.shard(shard) for shard in which]
        segments = tuple(segment for one in opened for segment in one.version.segments)
        name = "-".join([self.manifest.uid, *(f"{one.named.folder}/{one.named.manifest}" for one in opened)])
        codebook = opened[0].version.codebook if opened else None
        return Snapshot(self.manifest.dim, segments, name, codebook)

    @property
    def whole(self) -> Snapshot:
        """All shards as one snapshot, with the calibration. It is made once per version."""
        if self._whole is None or self._whole[0] is not self.manifest:
            state = replace(self.snapshot(), calibration=self.calibration(), changes=self.changes)
            self._whole = self.manifest, state
        return self._whole[1]

    def calibration(self) -> Calibration | None:
        """The calibration of the corpus, or None."""
        if self.manifest.calibration is None:
            return None
        name, crc = self.manifest.calibration
        try:
            found = Calibration.read(BlockFile(self.path / name, crc, at_most=MOST_BYTES), self.manifest.dim)
        except FileNotFoundError:
            if read_cluster(self.path) != self.manifest:
                raise StaleVersionError(f"{self.path} has a newer version than {self.manifest.generation}") from None
            raise DamagedIndexError(f"{self.path / name} is missing") from None
        if not found.fits(self.manifest.searchable, self.changes):
            raise DamagedIndexError(
                f"{self.path / NAME} counts {self.manifest.added} documents added and {self.manifest.deleted} deleted "
                f"since a calibration with {found.documents}; but there are {self.manifest.searchable}"
            )
        return found

    @property
    def changes(self) -> Changes:
        """Documents added and deleted since the calibration."""
        return Changes(self.manifest.added, self.manifest.deleted)

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        state = self.snapshot()
        order = np.argsort(state.sequence[state.live], kind="stable")
        ids = state.live_ids()
        return [ids[i] for i in order]

    def known(self, ids: Sequence[Id]) -> set[Id]:
        """The given ids that are in the corpus."""
        found: set[Id] = set()
        for shard, places in by_shard(ids, len(self.manifest.shards)).items():
            table = self.shard(shard).positions.table(len(places))
            found.update(ids[i] for i in places if ids[i] in table)
        return found

    def locate(self, one: Id) -> tuple[Snapshot, int]:
        """The snapshot of the shard that has a document, and its position there; `KeyError` if the id is unknown."""
        shard = shard_of(one, len(self.manifest.shards))
        try:
            return self.snapshot([shard]), self.shard(shard).positions[one]
        except KeyError:
            raise KeyError(f"no document has the id {one!r}") from None

    def verify(self, advance: Callable[[int], None] = lambda _: None) -> None:
        """Reads all files of the current version and compares checksums; `DamagedIndexError` says what is wrong."""
        numbers: list[NDArray[np.int64]] = []
        for shard, named in enumerate(self.manifest.shards):
            opened = self.shard(shard)
            ShardDirectory(self.path, named, opened.version).verify(advance)
            state = self.snapshot([shard])
            where = self.path / SHARDS / named.folder
            if (shards_of(state.live_ids(), len(self.manifest.shards)) != shard).any():
                raise DamagedIndexError(f"{where} has a document that belongs to another shard")
            numbers.append(state.sequence[state.live])
            if len(numbers[-1]) and numbers[-1].max() >= self.manifest.next_sequence:
                raise DamagedIndexError(f"{where} has a sequence number that was not assigned to any document yet")
        everything = np.concatenate(numbers)
        if len(np.unique(everything)) != len(everything):
            raise DamagedIndexError(f"{self.path} has two documents with the same sequence number")
        self.calibration()

    @property
    def nbytes(self) -> int:
        """The size of all files of the shards in bytes."""
        opened = [self.shard(shard) for shard in range(len(self.manifest.shards))]
        return sum(ShardDirectory(self.path, one.named, one.version).nbytes for one in opened)

    def remove_strays(self, before: ClusterManifest | None = None) -> None:
        """Removes files that no version needs, if possible. Needs the lock.

        Files of the version ``before`` stay, because a reader may be opening it. Files of older versions that were
        committed here are removed at once; unknown files are removed when they are old. Only regular files with names
        that maxsieve gives are removed.
        """
        with suppress(OSError, MaxsieveError):
            wanted = files_needed(self.path, [self.manifest, before or self.manifest])
            remove_unneeded(self.path, wanted, self._retired)
            self._retired = wanted
            remove_empty_folders(self.path, {version.folder for version in self.manifest.shards})

    def _check_fits(self, shard: int, found: Manifest) -> None:
        corpus = self.manifest
        same = (found.dim, found.store, found.similarity, found.uid) == (
            corpus.dim,
            corpus.store,
            corpus.similarity,
            corpus.uid,
        )
        if not same or _codebook(found) != corpus.codebook:
            raise DamagedIndexError(f"{self.path / SHARDS / folder_name(shard)} is not a shard of this corpus")
        if corpus.shards[shard].documents and found.id_type != corpus.id_type:
            raise DamagedIndexError(
                f"{self.path / NAME} says that ids are {corpus.id_type}, but shard {shard} has {found.id_type}"
            )

    def _with_calibration(
        self, manifest: ClusterManifest, old: ClusterManifest, calibration: Calibration | None
    ) -> ClusterManifest:
        """The next version with a new calibration, or with the old one and the number of changes since then."""
        if calibration is not None:
            if not calibration.fits(manifest.searchable, NO_CHANGES):
                raise ValueError(
                    f"the calibration is of a corpus with {calibration.documents} searchable documents; "
                    f"this corpus has {manifest.searchable}"
                )
            path = self.path / f"{number_from_clock():08d}.calibration"
            extra = Extra(path.name, calibration.write(path))
            return replace(manifest, calibration=extra, added=0, deleted=0)
        if manifest.calibration is None or manifest.codebook != old.codebook:
            return replace(manifest, calibration=None, added=0, deleted=0)
        added = manifest.next_sequence - old.next_sequence
        deleted = old.documents + added - manifest.documents
        return replace(manifest, added=old.added + added, deleted=old.deleted + deleted)


def empty_shard(root: Path, corpus: ClusterManifest, shard: int) -> ShardVersion:
    """Writes an empty shard, which is not part of a version of the corpus yet."""
    directory = ShardDirectory.empty(root, corpus, shard)
    directory.commit((), None)
    return directory.written


def _codebook(manifest: Manifest) -> int | None:
    extra = manifest.extras.get("codebook")
    return None if extra is None else extra.crc


def _agreed(what: str, values: Iterable[T]) -> T | None:
    """The value that all shards share; None if there are no values."""
    found = set(values)
    if len(found) > 1:
        raise ValueError(f"the shards have different {what}: {sorted(map(str, found))}")
    return found.pop() if found else None

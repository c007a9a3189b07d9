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
from typing import Any, TypeVar

from maxsieve.cluster.engine import Run, ShardChange, in_turn
from maxsieve.cluster.leftovers import (
    check_empty,
    files_needed,
    remove_created,
    remove_empty_folders,
    remove_unneeded,
)
from maxsieve.cluster.manifest import (
    MOST_SHARDS,
    ClusterManifest,
    ShardVersion,
    by_shard,
    read_cluster,
    write_cluster,
)
from maxsieve.cluster.shard import (
    ShardDirectory,
    compact_shard,
    delete_from_shard,
    number_from_clock,
    read_shard,
    remove_new,
)
from maxsieve.cluster.snapshot import ShardedSnapshot, codebook_crc
from maxsieve.common.checks import as_count
from maxsieve.common.files import PathLike, sync_folder
from maxsieve.errors import MaxsieveError
from maxsieve.ids import Id
from maxsieve.storage.calibration import Calibration, Changes
from maxsieve.storage.lock import CheckLock, new_folder, writer_lock
from maxsieve.storage.manifest import Extra
from maxsieve.storage.segments import Layout

T = TypeVar("T")


class ShardedFolder:
    """A corpus in shards at one version. The version changes only by methods of this object.

    Only one thread writes at a time. Writers in other processes are excluded by the lock of the folder. An unpickled
    object is the same folder at its newest version.

    >>> import tempfile
    >>> folder = ShardedFolder.create(tempfile.mkdtemp() + "/corpus", Layout(8), shards=3)
    >>> len(folder.manifest.shards), folder.manifest.documents
    (3, 0)
    """

    def __init__(self, path: Path, manifest: ClusterManifest) -> None:
        self.path, self.manifest = path, manifest
        self._turn = threading.RLock()
        self._moving = threading.Lock()  # from reading or replacing the manifest until it is the current version
        self._writers = 0
        self._check_lock: CheckLock = lambda: None
        self._snapshot: ShardedSnapshot | None = None
        self._retired: set[Path] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedFolder.open, (self.path,)

    @classmethod
    def create(cls, path: PathLike, layout: Layout, *, shards: int) -> ShardedFolder:
        """Creates an empty corpus in a new or empty folder. A failure leaves the folder as it was."""
        count = as_count(shards, "shards", at_least=1, at_most=MOST_SHARDS)
        root = Path(path).absolute()
        corpus = ClusterManifest(layout.dim, layout.store, layout.similarity, secrets.token_hex(8))
        with new_folder(root, "a corpus in shards", check_empty, remove_created):
            versions = tuple(empty_shard(root, corpus, shard) for shard in range(count))
            folder = cls(root, replace(corpus, shards=versions))
            write_cluster(root, folder.manifest)
            sync_folder(root)
            sync_folder(root.parent)
        return folder

    @classmethod
    def open(cls, path: PathLike) -> ShardedFolder:
        """Opens an existing corpus at its newest version. This locks nothing and writes nothing."""
        root = Path(path).absolute()
        return cls(root, read_cluster(root))

    @property
    def snapshot(self) -> ShardedSnapshot:
        """The current version, for reading."""
        known = self._snapshot
        if known is None or known.manifest is not self.manifest:
            known = self._snapshot = ShardedSnapshot(self.path, self.manifest, known)
        return known

    def refresh(self) -> bool:
        """Goes to the newest version; False if that is already the current one."""
        with self._moving:
            newest = read_cluster(self.path)
            if newest.uid != self.manifest.uid:
                raise MaxsieveError(f"{self.path} now holds another corpus; open it again")
            changed = newest != self.manifest
            if changed:
                self.manifest = newest
            return changed

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
        calibrations: Sequence[Calibration] | None = None,
        until: int | None = None,
    ) -> None:
        """Makes new versions of some shards visible, all at once and durably. Needs the lock (`writing`).

        sequence
            the sequence number of the next document: that of the last one that was added, plus 1.
        shards
            the new number of shards. If it differs from the old one, ``changed`` must have all shards.
        calibrations
            new calibrations of the current corpus. Older ones are removed if the codebook has changed.
        until
            documents with sequence numbers from this on are not covered by the new calibrations.

        The type of ids and the codebook are read from the manifests of the shards, and must agree. If the commit fails,
        the files of the new versions are removed.
        """
        if not self._writers:
            raise RuntimeError("commit needs the lock: call it while writing()")
        try:
            self._commit(changed, sequence, shards, calibrations, until)
        except BaseException:
            self.discard(changed.values())
            raise

    def _commit(
        self,
        changed: Mapping[int, ShardVersion],
        sequence: int | None,
        shards: int | None,
        calibrations: Sequence[Calibration] | None,
        until: int | None,
    ) -> None:
        old = self.manifest
        count = len(old.shards) if shards is None else shards
        versions = tuple(changed[i] if i in changed else old.shards[i] for i in range(count))
        after = old.next_sequence if sequence is None else sequence
        if after < old.next_sequence:
            raise ValueError(f"sequence is {after}, but documents have numbers up to {old.next_sequence} already")
        news = {version: read_shard(self.path, version) for version in changed.values()}
        codebook = _agreed("codebooks", [codebook_crc(news[v]) if v in news else old.codebook for v in versions])
        types = [news[v].id_type if v in news else old.id_type for v in versions if v.documents]
        if sum(version.documents for version in versions) > old.documents + after - old.next_sequence:
            raise ValueError(f"sequence is {after}, which leaves no number for some of the documents that were added")
        manifest = old.successor(
            next_sequence=after, shards=versions, codebook=codebook, id_type=_agreed("types of ids", types)
        )
        manifest = self._with_calibrations(manifest, old, calibrations, until)
        with self._moving:
            if read_cluster(self.path) != old:
                raise MaxsieveError(f"{self.path} was changed by a writer without the lock; nothing was committed")
            sync_folder(self.path)
            self._check_lock()
            write_cluster(self.path, manifest)
            self.manifest = manifest
        try:
            sync_folder(self.path)
        except OSError as problem:
            message = f"the change was made, but may not survive a crash of the machine: {problem.strerror}"
            raise OSError(problem.errno, message, str(self.path)) from problem
        self.remove_strays(old)

    def change(
        self, change: ShardChange, calls: Mapping[int, tuple[Any, ...]], run: Run = in_turn
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

    def discard(self, made: Iterable[ShardVersion], before: Iterable[ShardVersion] = ()) -> None:
        """Removes the files of versions that will not be committed. Files of committed versions are never removed.

        After a commit, ``before`` is the version before it, which readers may still have.
        """
        with suppress(OSError, MaxsieveError):
            remove_new(self.path, made, [*before, *self.manifest.shards, *read_cluster(self.path).shards])

    def delete(self, ids: list[Id], run: Run = in_turn) -> None:
        """Deletes all these documents or, if an id is unknown, none."""
        with self.writing():
            shares = by_shard(ids, len(self.manifest.shards))
            calls = {
                shard: (self.path, self.manifest.shards[shard], [ids[i] for i in places])
                for shard, places in shares.items()
            }
            self.commit(self.change(delete_from_shard, calls, run))

    def compact(self, run: Run = in_turn, change: ShardChange | None = None) -> None:
        """Frees the disk space of deleted and replaced documents, and merges small segments. Answers stay the same.

        ``change`` may leave a shard as it is, and return the same version.
        """
        with self.writing():
            calls = {shard: (self.path, version) for shard, version in enumerate(self.manifest.shards)}
            made = self.change(change or compact_shard, calls, run)
            changed = {shard: version for shard, version in made.items() if version != self.manifest.shards[shard]}
            if changed:
                self.commit(changed)

    def verify(self, advance: Callable[[int], None] = lambda _: None) -> None:
        """Reads all files of the current version and compares checksums; `DamagedIndexError` says what is wrong."""
        self.snapshot.verify(advance)

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

    def _with_calibrations(
        self,
        manifest: ClusterManifest,
        old: ClusterManifest,
        calibrations: Sequence[Calibration] | None,
        until: int | None,
    ) -> ClusterManifest:
        """The next version with new calibrations, or with the old ones and the number of changes since then."""
        if calibrations is not None:
            added = 0 if until is None else self.snapshot.here.count_from(until)
            whole: Extra | None = None
            filters: list[Extra] = []
            for calibration in calibrations:
                if not calibration.fits(manifest.searchable, Changes(added)):
                    raise ValueError(
                        f"the calibration is of a corpus with {calibration.documents} searchable documents; "
                        f"this corpus has {manifest.searchable}"
                    )
                path = self.path / f"{number_from_clock():08d}.calibration"
                extra = Extra(path.name, calibration.write(path))
                if calibration.where is None:
                    whole = extra
                else:
                    filters.append(extra)
            since = manifest.next_sequence if until is None else until
            known = since if any(one.walks != (None,) for one in calibrations) else None
            return replace(manifest, calibration=whole, filters=tuple(filters), added=added, deleted=0, since=known)
        if not manifest.calibrations or manifest.codebook != old.codebook:
            return replace(manifest, calibration=None, filters=(), added=0, deleted=0, since=None)
        added = manifest.next_sequence - old.next_sequence
        deleted = old.documents + added - manifest.documents
        return replace(manifest, added=old.added + added, deleted=old.deleted + deleted)


def empty_shard(root: Path, corpus: ClusterManifest, shard: int) -> ShardVersion:
    """Writes an empty shard, which is not part of a version of the corpus yet."""
    directory = ShardDirectory.empty(root, corpus, shard)
    directory.commit((), None)
    return directory.written


def _agreed(what: str, values: Iterable[T]) -> T | None:
    """The value that all shards share; None if there are no values."""
    found = set(values)
    if len(found) > 1:
        raise ValueError(f"the shards have different {what}: {sorted(map(str, found))}")
    return found.pop() if found else None

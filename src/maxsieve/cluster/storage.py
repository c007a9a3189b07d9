"""The storage of a corpus in shards. Shards are written by tasks, on any machine, and committed at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.engine import Engine, Run, ShardChange
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import ShardVersion, by_shard
from maxsieve.cluster.rebuild import list_documents, rebalance, train_codebook
from maxsieve.cluster.shard import append_to_shard, sequenced
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.common.progress import progress_bar
from maxsieve.errors import StaleVersionError
from maxsieve.ids import Id
from maxsieve.storage.segments import Merge, Segment
from maxsieve.storage.storage import Calibrate, Storage, check_new, not_closed

ATTEMPTS = 20
"""How many versions of the corpus are tried while other processes change the corpus."""

T = TypeVar("T")


class ShardedStorage(Storage):
    """A folder of shards, on storage that all machines share.

    It stays at its version until `refresh` or until it changes the corpus itself. There is one exception: if the files
    of its version have been removed, because other processes have changed the corpus twice since then, it goes to the
    newest version. When it is pickled, it contains the path; the receiver opens the folder at its newest version.
    """

    distributed = True

    def __init__(self, folder: ShardedFolder, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        self._lock = threading.RLock()
        self._current: ShardedSnapshot | None = folder.snapshot

    def __reduce__(self) -> tuple[Any, ...]:
        self.snapshot  # noqa: B018 - raises when closed
        return ShardedStorage, (self.folder, self.engine)

    @property
    def snapshot(self) -> ShardedSnapshot:
        """The current version."""
        return not_closed(self._current)

    def reading(self, read: Callable[[ShardedSnapshot], T]) -> T:
        """Calls ``read`` with the current version, or with a newer one if the files of the current one are removed."""
        for _ in range(ATTEMPTS):
            snapshot = self.snapshot
            try:
                return read(snapshot)
            except StaleVersionError:
                self.refresh()
                if self.snapshot is snapshot:
                    raise
        return read(self.snapshot)

    def copy(self) -> ShardedStorage:
        """Another storage at the same version."""
        return ShardedStorage(ShardedFolder(self.folder.path, self.snapshot.manifest), self.engine)

    @contextmanager
    def writing(
        self, *, replace: bool, delete: list[Id], stepwise: bool, reencode: Calibrate | None = None
    ) -> Iterator[ShardedWriter]:
        """Adds all documents or, if there is an error, none: one commit over all shards."""
        if reencode is not None:
            raise ValueError("an index in shards can't be encoded again: build another one from the vectors")
        self.snapshot  # noqa: B018 - raises when closed
        with self._committing():
            before = self.folder.manifest.shards
            writer = ShardedWriter(self.folder, self.engine.run, replace, delete)
            try:
                writer.admit([])
                yield writer
                writer.finish()
                self.folder.commit(writer.made, sequence=writer.next_sequence)
            except BaseException:
                self.folder.discard([*writer.made.values(), *writer.replaced], before)
                raise
            self.folder.discard(writer.replaced, before)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        self.snapshot  # noqa: B018
        with self._committing():
            self.folder.delete(ids, self.engine.run)

    def compact(self, progress: bool) -> None:
        """Frees the disk space of deleted and replaced documents, and merges small segments."""
        run, shards = self.engine.run, len(self.snapshot.manifest.shards)
        with progress_bar("compacting", shards, shown=progress, unit="shards") as advance, self._committing():

            def run_counted(
                change: ShardChange, calls: Mapping[int, tuple[Any, ...]]
            ) -> Iterator[tuple[int, ShardVersion]]:
                for done in run(change, calls):
                    advance(1)
                    yield done

            self.folder.compact(run_counted)

    def rebalance(self, shards: int) -> None:
        """Distributes the documents over another number of shards, in one commit."""
        self.snapshot  # noqa: B018
        with self._committing():
            rebalance(self.folder, shards, run=self.engine.run)

    def replace_tiers(self, calibrate: Calibrate, *, train: bool) -> None:
        """Commits a new codebook, with ``train`` or if there is none, or lists; and then new calibrations.

        The lock is held meanwhile, so that the version that is searched stays the newest one.
        """
        self.snapshot  # noqa: B018
        with self._committing():
            old = self.snapshot
            old.calibrations  # noqa: B018 - they are read before their files are removed
            old.hold(
                id for one in old.calibrations for best in one.hits.values() for row in best.ids or () for id in row
            )
            if old.codebook is None or (train and not old.codebook.bits):
                train_codebook(self.folder, run=self.engine.run, encode=train)
            else:
                list_documents(self.folder, run=self.engine.run)
            self._follow()
            made = calibrate(self.snapshot, old)
            if made.calibrations or self.snapshot.calibrations:
                self.folder.commit({}, calibrations=made.calibrations, until=made.until)

    def facts(self, members: Sequence[Any]) -> dict[str, Any]:
        """The version of the corpus, the size of each shard, and the members, for JSON."""
        manifest = self.snapshot.manifest
        return {
            "generation": manifest.generation,
            "shards": [{"documents": shard.documents, "tokens": shard.tokens} for shard in manifest.shards],
            "members": [{**member._asdict(), "shards": list(member.shards)} for member in members],
        }

    def lock(self, folder: Path) -> AbstractContextManager[Any]:
        """Holds the writer's lock of the corpus, which its changes need, too. The lock is reentrant."""
        return self.folder.writing()

    def refresh(self) -> None:
        """Goes to the newest version, with the changes of other processes."""
        self.snapshot  # noqa: B018
        self.folder.refresh()
        self._follow()

    def verify(self, progress: bool) -> None:
        """Reads all files and compares checksums."""
        with progress_bar("verifying", None, shown=progress, unit="bytes") as advance:
            self.reading(lambda snapshot: snapshot.verify(advance))

    def close(self) -> None:
        """Releases all files."""
        with self._lock:
            self._current = None

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Holds the writer's lock, and goes to the version that was committed."""
        with self.folder.writing():
            self._follow()
            try:
                yield
            finally:
                self._follow()

    def _follow(self) -> None:
        """Makes the version of the folder the current one."""
        with self._lock:
            if self._current is not None and self._current.manifest != self.folder.manifest:
                self._current = self.folder.snapshot


class ShardedWriter:
    """Divides segments over the shards. Each task starts from the version that the task before has made.

    ``made`` has the newest version of each changed shard, and ``replaced`` has the intermediate versions before it.
    """

    def __init__(self, folder: ShardedFolder, run: Run, replace: bool, delete: list[Id]) -> None:
        self._folder, self._run, self._replace, self._delete = folder, run, replace, delete
        self._snapshot = folder.snapshot
        self._waiting: Segment | None = None
        self.next_sequence = folder.manifest.next_sequence
        self.made: dict[int, ShardVersion] = {}
        self.replaced: list[ShardVersion] = []

    def admit(self, ids: list[Id]) -> None:
        """Refuses ids that can't be added. Ids that are in the corpus already are found by the shards."""
        kind = {"int": int, "str": str}.get(self._folder.manifest.id_type or "") if self._snapshot.n_documents else None
        check_new(
            ids, lambda some: self._snapshot.known(some) if some is self._delete else {}, kind, True, self._delete
        )

    def append(self, segment: Segment) -> None:
        """Sends the segment before this one to the shards."""
        if self._waiting is not None:
            self._send(self._waiting, {})
        self._waiting = segment

    def finish(self) -> None:
        """Sends the last segment. Its tasks also delete documents, so that this takes no further step."""
        gone = by_shard(self._delete, len(self._folder.manifest.shards))
        self._send(self._waiting, {shard: [self._delete[i] for i in places] for shard, places in gone.items()})

    def _send(self, segment: Segment | None, delete: Mapping[int, list[Id]]) -> None:
        base = self._folder.manifest
        shares = {} if segment is None else self._divide(segment, len(base.shards))
        calls = {
            shard: (
                self._folder.path,
                self.made.get(shard, base.shards[shard]),
                shares.get(shard),
                self._replace,
                delete.get(shard, []),
            )
            for shard in sorted({*shares, *delete})
        }
        made = self._folder.change(append_to_shard, calls, self._run)
        self.replaced += [self.made[shard] for shard in made if shard in self.made]
        self.made |= made
        self.next_sequence += 0 if segment is None else segment.documents

    def _divide(self, segment: Segment, shards: int) -> dict[int, Segment]:
        """The documents of each shard, with their sequence numbers."""
        layout, parts = self._snapshot.layout, {}
        for shard, places in by_shard(list(segment.ids), shards).items():
            keep: NDArray[np.bool_] = np.zeros(segment.documents, np.bool_)
            keep[places] = True
            parts[shard] = sequenced(Merge([segment], [keep]).in_memory(), layout, self.next_sequence + places)
        return parts

"""An index in shards whose members are threads of this process: the real coordinator and members, without Ray."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import maxsieve as ms
from maxsieve.cluster import Cluster
from maxsieve.cluster.engine import MemberInfo, Members, Run, Shards, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.member import Member
from maxsieve.cluster.placement import Seat, cover, place
from maxsieve.cluster.searcher import ClusterSearcher
from maxsieve.cluster.storage import ShardedStorage
from maxsieve.storage.segments import Layout


class LocalMembers(Members):
    """The members of a corpus; all are healthy."""

    def __init__(self, path: Path, members: int) -> None:
        self._members = {Seat(f"node{i}", 0): Member(path) for i in range(members)}
        self._pool = ThreadPoolExecutor(32)

    @property
    def connected(self) -> bool:
        return True

    def serve(self, sizes: Sequence[int]) -> None:
        pass

    def present(self) -> list[MemberInfo]:
        return [MemberInfo(seat.node, None, ()) for seat in self._members]

    def close(self) -> None:
        self._pool.shutdown()

    def cover(self, sizes: Sequence[int]) -> dict[Seat, Shards]:
        return cover(sizes, place(sizes, [seat.node for seat in self._members]))

    def another(self, shards: Shards, tried: Collection[Seat]) -> Seat | None:
        return next((seat for seat in self._members if seat not in tried), None)

    def start(self, seat: Seat, method: str, *arguments: Any) -> Hashable:
        return self._pool.submit(getattr(self._members[seat], method), *arguments)

    def wait(self, calls: Sequence[Any], seconds: float, *, for_all: bool) -> Mapping[Hashable, Any]:
        done = wait(calls, seconds, ALL_COMPLETED if for_all else FIRST_COMPLETED).done
        return {call: call.exception() or call.result() for call in done}

    def forget(self, seat: Seat, session: str) -> None:
        self.start(seat, "drop", session)

    def forget_later(self, seat: Seat, session: str) -> None:
        self.forget(seat, session)

    def suspect(self, seat: Seat) -> None:
        pass

    def now(self) -> float:
        return time.monotonic()


class LocalEngine:
    """Tasks run one after the other, and members are threads. ``actors_per_node`` is the number of members."""

    def __init__(self, cluster: Cluster | None = None) -> None:
        self.cluster = cluster or Cluster()

    @property
    def run(self) -> Run:
        return in_turn

    def members(self, path: Path) -> LocalMembers:
        return LocalMembers(path, self.cluster.actors_per_node)


class LocalIndex(ms.Index):
    """An index in shards over a `LocalEngine`."""

    @classmethod
    def create(cls, dim: int, *, path: Any = None, shards: Any = None, **options: Any) -> LocalIndex:
        layout = Layout(dim, options.pop("store", "float32"), options.pop("similarity", "dot"))
        return cls.over(ShardedFolder.create(path, layout, shards=shards), **options)

    @classmethod
    def open(cls, path: Any, **options: Any) -> LocalIndex:
        return cls.over(ShardedFolder.open(path), **options)

    @classmethod
    def over(cls, folder: ShardedFolder, cluster: Cluster | None = None, **options: Any) -> LocalIndex:
        engine = LocalEngine(cluster)
        return cls(ShardedStorage(folder, engine), ClusterSearcher(folder.path, engine), **options)

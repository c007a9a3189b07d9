"""An index in shards whose members are threads of this process: the real coordinator and members, without Ray."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from maxsieve.cluster.coordinator import Members, Shards
from maxsieve.cluster.index import ShardedIndex
from maxsieve.cluster.member import Member
from maxsieve.cluster.placement import Seat, cover, place
from maxsieve.cluster.running import Run, in_turn
from maxsieve.cluster.view import View


class LocalMembers(Members):
    """The members of a corpus; all are healthy."""

    def __init__(self, path: Path, members: int) -> None:
        self._members = {Seat(f"node{i}", 0): Member(path) for i in range(members)}
        self._pool = ThreadPoolExecutor(32)

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


class LocalIndex(ShardedIndex):
    """``actors_per_node`` is the number of members."""

    def _actor_pool(self, view: View) -> Members:
        if not isinstance(self._members, LocalMembers):
            self._members: Any = LocalMembers(self._folder.path, self._per_node)
        return self._members

    def _tasks(self) -> Run:
        return in_turn

    def close(self) -> None:
        self._members = None
        super().close()

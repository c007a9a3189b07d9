"""Members in this process that fail at given calls, with a clock of their own.

They run a small search. Its steps depend only on the request and the replies, as those of real members.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from maxsieve.cluster.agreement import Offers, UnknownSessionError
from maxsieve.cluster.engine import LostMemberError, Members
from maxsieve.cluster.member import MemberRequest, Part
from maxsieve.cluster.placement import Seat, cover, place
from maxsieve.errors import StaleVersionError

Fault: TypeAlias = Literal["", "dead before", "dead after", "late", "stale", "disk", "forgot"]
STEPS = 3
QUICK, SLOW, RESTART = 0.01, 30.0, 1.5


class Doc(NamedTuple):
    score: float
    sequence: int


def step(documents: Sequence[Doc], request: MemberRequest, replies: Sequence[tuple[float, ...]]) -> Any:
    """The offers of a step, or the part at the end. Each step drops what is below the K-th best of all members."""
    tau = max((kth for kth, _seen in replies), default=-np.inf)
    best = sorted((one for one in documents if one.score >= tau), key=lambda one: (-one.score, one.sequence))
    if not request.alone and len(replies) < STEPS:
        seen = best[: request.k * (len(replies) + 1) // STEPS + 1]
        return Offers.of(
            [
                ("kth", request.k, np.array([one.score for one in seen], np.float64), None),
                ("sum", 0, np.array([len(seen)], np.float64), None),
            ]
        )
    best = best[: request.k]
    said = 0.0 if request.alone else float(sum(seen for _kth, seen in replies))
    return Part(
        ids=[one.sequence for one in best],
        scores=np.array([one.score for one in best], np.float32),
        sequence=np.array([one.sequence for one in best], np.int64),
        documents=len(documents),
        guarantee="exact",
        coverage=said,
        survivors=0,
        rounds=[],
        rescored=len(best),
        stages={},
        isa="scalar",
        touched={},
    )


class FakeMembers(Members):
    """``fault(seat, call)`` decides what happens to each call. ``call`` counts the calls before it."""

    def __init__(
        self, corpus: Sequence[Sequence[Doc]], nodes: int, replicas: int, fault: Callable[[Seat, int], Fault]
    ) -> None:
        self.corpus, self._fault = corpus, fault
        self.sizes = [len(documents) for documents in corpus]
        self.placement = place(self.sizes, [f"node{i}" for i in range(nodes)], replicas=replicas)
        self.clock, self._numbers = 0.0, count()
        self._outcomes: dict[int, Any] = {}
        self._coming: list[tuple[float, int]] = []
        self._back: dict[Seat, float] = {}
        self.sessions: dict[Seat, dict[str, tuple[int, MemberRequest]]] = {seat: {} for seat in self.placement.seats}
        self.calls: Counter[Seat] = Counter()
        self.suspected: list[Seat] = []

    def cover(self, sizes: Sequence[int]) -> dict[Seat, tuple[int, ...]]:
        return cover(sizes, self.placement)

    def another(self, shards: tuple[int, ...], tried: Collection[Seat]) -> Seat | None:
        able = [seat for seat in self.placement.seats if seat not in tried]
        return min(able, key=lambda seat: -len(set(shards) & set(self.placement.of(seat))), default=None)

    def start(self, seat: Seat, method: str, *arguments: Any) -> Hashable:
        assert method == "advance"
        number = next(self._numbers)
        fault, self.calls[seat] = self._fault(seat, number), self.calls[seat] + 1
        takes = SLOW if fault == "late" else QUICK
        outcome: Any
        if self.clock < self._back.get(seat, 0.0) or fault == "dead before":
            outcome = self._die(seat)
        elif fault == "stale":
            outcome = StaleVersionError("another version is there")
        elif fault == "disk":
            outcome = OSError(5, "Input/output error")
        else:
            if fault == "forgot":
                self.sessions[seat].clear()
            outcome = self._advance(seat, *arguments)
            if fault == "dead after":
                outcome = self._die(seat)
        self._outcomes[number] = outcome
        heapq.heappush(self._coming, (self.clock + takes, number))
        return number

    def _die(self, seat: Seat) -> LostMemberError:
        self.sessions[seat].clear()
        if self.clock >= self._back.get(seat, 0.0):
            self._back[seat] = self.clock + RESTART
        return LostMemberError(f"{seat} is gone")

    def _advance(self, seat: Seat, session: str, request: MemberRequest | None, replies: Any) -> Any:
        if request is None:
            if session not in self.sessions[seat]:
                return UnknownSessionError("not begun here")
            before, request = self.sessions[seat][session]
            assert before + 1 == len(replies), "a session goes on by one step"
        answer = step([one for shard in request.shards for one in self.corpus[shard]], request, replies)
        self.sessions[seat][session] = len(replies), request
        if isinstance(answer, Part):
            del self.sessions[seat][session]
        return answer

    def wait(self, calls: Sequence[Hashable], seconds: float, *, for_all: bool) -> Mapping[Hashable, Any]:
        until = self.clock + seconds
        while self._coming and self._coming[0][0] <= until:
            at, number = heapq.heappop(self._coming)
            self.clock = max(self.clock, at)
            if number in calls:
                return {number: self._outcomes.pop(number)}
        self.clock = until
        return {}

    def forget(self, seat: Seat, session: str) -> None:
        self.sessions[seat].pop(session, None)

    def forget_later(self, seat: Seat, session: str) -> None:
        self.forget(seat, session)

    def suspect(self, seat: Seat) -> None:
        self.suspected.append(seat)

    def now(self) -> float:
        return self.clock

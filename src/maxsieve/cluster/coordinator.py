"""Runs a search over members: the same native search on each member, step by step. Members may fail during a search.

Each member searches its shards. Where the algorithm needs a number about all documents, the member stops and offers its
own values. When all members have made their offers, the coordinator merges them and sends the same reply to all. Then
the members continue, until each of them has its part of the answer.

The next step of a member depends only on the version of the corpus, the request and the replies. So another member can
take over the part of a lost or slow member: it gets the same request and all replies so far, and reaches the same step.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.agreement import NO_OFFERS, Offers, Replies, UnknownSessionError, merge
from maxsieve.cluster.engine import LostMemberError, Members, Shards
from maxsieve.cluster.placement import Seat
from maxsieve.errors import MaxsieveError, StaleVersionError
from maxsieve.options import Partial

CONCURRENT_SEARCHES = 8
"""The number of searches of one call that run at the same time."""

HEDGE_FACTOR = 3.0
"""A call is late after this many times the typical latency of its step. Then a second member is asked (hedging)."""

MIN_HEDGE_DELAY = 0.05
"""Seconds. No call is late before that."""

DEFAULT_HEDGE_DELAY = 2.0
"""Seconds after which a call is late if the typical latency is not known yet."""

MIN_LATENCIES = 20
"""The number of steps that must be measured before the typical latency is known."""

MAX_CALLS = 3
"""The number of members that may work on the same part at the same time: the first one and its hedged requests."""

RETRY_PAUSE = 0.2
"""Seconds until a part is tried again after every member has failed at it."""


class ShardsUnavailableError(MaxsieveError):
    """No member answered for some shards within the timeout of the caller; ``shards`` has their numbers."""

    def __init__(self, message: str, shards: Shards) -> None:
        super().__init__(message, shards)
        self.shards = shards

    def __str__(self) -> str:
        return str(self.args[0])


class LatencyHistory:
    """The latest latencies of steps of each kind."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[Hashable, deque[float]] = {}

    def record(self, kind: Hashable, seconds: float) -> None:
        """Records the latency of one step."""
        with self._lock:
            self._seen.setdefault(kind, deque(maxlen=200)).append(seconds)

    def percentile_95(self, kind: Hashable) -> float | None:
        """The 95th percentile; None if there are too few measurements."""
        with self._lock:
            seen = sorted(self._seen.get(kind, ()))
        return seen[len(seen) * 19 // 20] if len(seen) >= MIN_LATENCIES else None


class Request(Protocol):
    """A request to a member about some shards. The member answers it alone, or together with other members."""

    @property
    def shards(self) -> Shards:
        """The shards that the member answers for."""

    @property
    def alone(self) -> bool:
        """Whether these are all shards of the search. Then there is nothing to agree on."""

    @property
    def query(self) -> NDArray[np.float32]:
        """The token vectors of the query."""

    @property
    def kind(self) -> Hashable:
        """Equal for requests that take about the same time for queries of the same length."""

    @property
    def is_kept(self) -> bool:
        """Whether members store the request between two steps. If they do, it is sent only once."""

    def is_done(self, first: Offers, replies: Replies) -> bool:
        """Whether a member with these first offers has nothing to add after these replies."""

    def empty_part(self, first: Offers, part: Any) -> Any:
        """The part of a member that has nothing to add, made from the part of another member."""


class MemberAnswers(NamedTuple):
    """The result of a search: the part of each member, the shards that no member answered for, and the faults.

    ``agreements`` is the number of agreements of members, ``retried`` the number of parts that another member took
    over after a failure, and ``hedged`` the number of parts for which a second member was asked, because the first was
    late.
    """

    parts: list[Any]
    missing: Shards
    agreements: int
    retried: int
    hedged: int
    seconds: float


class Call(NamedTuple):
    """A call that is not finished yet."""

    seat: Seat
    session: str
    began: float


@dataclass(eq=False)
class Assignment:
    """The part of a search that is assigned to one member: some shards. Another member may take it over.

    seat, session
        the member that answered last, and its session.
    calls
        the calls for this part that are not finished yet.
    failures
        the seats that failed at this attempt at the step, each with its error.
    last_error
        the last error of any attempt at this step.
    retry_at
        the time of the next attempt, after all members have failed at this step.
    no_alternative
        whether there is no other member to ask in this step.
    first
        the offers of the first step.
    finished
        whether the member has nothing to add, according to these offers. Then it is not asked in this step.
    """

    request: Request
    seat: Seat
    session: str = ""
    calls: dict[Hashable, Call] = field(default_factory=dict)
    answer: Any = None
    failures: dict[Seat, Exception] = field(default_factory=dict)
    last_error: Exception | None = None
    retry_at: float | None = None
    no_alternative: bool = False
    first: Offers = NO_OFFERS
    finished: bool = False


ToRequest: TypeAlias = Callable[[Shards, bool], Request]
"""Makes the request to a member from its shards, and from whether these are all shards of the search."""


class Search:
    """A running search. It never waits: `run` passes it the results of calls, and tells it when time has passed."""

    def __init__(
        self,
        members: Members,
        sizes: Sequence[int],
        to_request: ToRequest,
        latencies: LatencyHistory,
        *,
        timeout: float,
        partial: Partial,
    ) -> None:
        self._members, self._to_request, self._latencies = members, to_request, latencies
        self._timeout, self._partial = timeout, partial
        self._began, self._retried, self._hedged = members.now(), 0, 0
        self._missing: set[int] = set()
        self.found: MemberAnswers | None = None
        self._begin(members.cover(sizes).items())

    @property
    def calls(self) -> Iterator[Hashable]:
        """All calls that are not finished yet."""
        return (call for assignment in self._assignments for call in assignment.calls)

    def take(self, done: Mapping[Hashable, Any]) -> None:
        """Takes the results of finished calls. They may belong to this search or to others."""
        for assignment in self._assignments:
            for call in [open_call for open_call in assignment.calls if open_call in done]:
                if call in assignment.calls:  # false if another member has just answered for this part
                    self._take(assignment, assignment.calls.pop(call), done[call])
        if self.found is None and all(
            assignment.answer is not None or assignment.finished for assignment in self._assignments
        ):
            self._next_step()

    def tick(self) -> float:
        """Does what is due: hedged requests, retries, timeouts. Returns the seconds until it is to be called again."""
        if self.found is not None:
            return 0.0
        now = self._members.now()
        waiting = [
            assignment for assignment in self._assignments if assignment.answer is None and not assignment.finished
        ]
        if waiting and now >= self._deadline:
            self._give_up(waiting)
            return 0.0
        due = [self._deadline]
        for assignment in waiting:
            at = self._hedge_at(assignment) if assignment.retry_at is None else assignment.retry_at
            if at is None:
                continue
            if at > now:
                due.append(at)
            elif assignment.retry_at is None:
                self._hedge(assignment)
            else:
                assignment.retry_at, assignment.no_alternative = None, False
                assignment.failures.clear()
                self._ask(assignment, self._members.another(assignment.request.shards, ()) or assignment.seat, new=True)
        return max(0.0, min(due) - now)

    def stop(self) -> None:
        """Ends the sessions of this search on all members."""
        for assignment in self._assignments:
            for call in assignment.calls.values():
                self._members.forget(call.seat, call.session)
            if (
                assignment.session
                and not assignment.calls
                and (assignment.answer is None or isinstance(assignment.answer, Offers))
            ):
                self._members.forget(assignment.seat, assignment.session)
            assignment.calls.clear()

    def _begin(self, cover: Iterable[tuple[Seat, Shards]]) -> None:
        """Starts at the first step."""
        self._replies: Replies = ()
        self._deadline = self._members.now() + self._timeout
        self._step_seconds: list[float] = []
        assignments = list(cover)
        self._assignments = [
            Assignment(self._to_request(shards, len(assignments) == 1), seat) for seat, shards in assignments
        ]
        for assignment in self._assignments:
            self._ask(assignment, assignment.seat, new=True)
        if not self._assignments:
            self._next_step()

    def _ask(self, assignment: Assignment, seat: Seat, *, new: bool) -> None:
        session = secrets.token_hex(8) if new else assignment.session
        request = assignment.request if new or not assignment.request.is_kept else None
        call = self._members.start(seat, "advance", session, request, self._replies)
        assignment.calls[call] = Call(seat, session, self._members.now())

    def _take(self, assignment: Assignment, asked: Call, answer: Any) -> None:
        if isinstance(answer, (ValueError, TypeError, KeyError)):
            raise answer  # a mistake of the caller: every member would raise the same
        if isinstance(answer, Exception):
            self._take_over(assignment, asked, answer)
            return
        took = self._members.now() - asked.began
        self._step_seconds.append(took)
        self._latencies.record(self._kind(assignment), took)
        assignment.answer, assignment.seat, assignment.session = answer, asked.seat, asked.session
        for late in assignment.calls.values():
            self._members.forget(late.seat, late.session)
            self._members.suspect(late.seat)
        assignment.calls.clear()
        assignment.failures.clear()
        assignment.last_error = None

    def _take_over(self, assignment: Assignment, asked: Call, problem: Exception) -> None:
        if isinstance(problem, UnknownSessionError):  # after a restart, for example: start a new session there
            self._retried += 1
            self._ask(assignment, asked.seat, new=True)
            return
        assignment.failures[asked.seat] = assignment.last_error = problem
        self._members.forget(asked.seat, asked.session)
        if isinstance(problem, LostMemberError):
            self._members.suspect(asked.seat)
        if assignment.calls:
            return  # another member is already working on this part
        other = self._members.another(assignment.request.shards, assignment.failures)
        if other is not None:
            self._retried += 1
            self._ask(assignment, other, new=True)
        elif stale := [failure for failure in assignment.failures.values() if isinstance(failure, StaleVersionError)]:
            raise stale[0]  # the version has been removed: a member that failed otherwise could not open it either
        elif self._partial == "allow":
            self._leave_out([assignment], late=False)
        else:
            self._retried += 1
            assignment.retry_at = self._members.now() + RETRY_PAUSE

    def _next_step(self) -> None:
        """After all members have answered: starts the next step, or finishes the search."""
        answers = [assignment.answer for assignment in self._assignments if not assignment.finished]
        if not any(isinstance(answer, Offers) for answer in answers):
            self._finish()
            return
        if not all(isinstance(answer, Offers) for answer in answers):
            raise RuntimeError("members are at different steps of a search: they run different versions of maxsieve")
        if not self._replies:
            for assignment in self._assignments:
                assignment.first = assignment.answer
        self._replies = (*self._replies, merge(answers))
        self._step_seconds.clear()
        for assignment in self._assignments:
            assignment.answer, assignment.no_alternative = None, False
            assignment.finished = assignment.request.is_done(assignment.first, self._replies)
            if not assignment.finished:
                self._ask(assignment, assignment.seat, new=False)

    def _finish(self) -> None:
        """Collects the parts of all members. Members that have nothing to add still have a session, which is ended."""
        parts = [assignment.answer for assignment in self._assignments if not assignment.finished]
        for assignment in self._assignments:
            if assignment.finished:
                parts.append(assignment.request.empty_part(assignment.first, parts[0]))
                self._members.forget_later(assignment.seat, assignment.session)
        missing, seconds = tuple(sorted(self._missing)), self._members.now() - self._began
        self.found = MemberAnswers(parts, missing, len(self._replies), self._retried, self._hedged, seconds)

    def _hedge_at(self, assignment: Assignment) -> float | None:
        """The time at which the latest call is late; None if no further member is to be asked."""
        if assignment.no_alternative or len(assignment.calls) >= MAX_CALLS:
            return None
        asked = sum(not other.finished for other in self._assignments)
        typical = (
            median(self._step_seconds)
            if 2 * len(self._step_seconds) > asked
            else self._latencies.percentile_95(self._kind(assignment))
        )
        began = max(call.began for call in assignment.calls.values())
        return began + (DEFAULT_HEDGE_DELAY if typical is None else max(MIN_HEDGE_DELAY, HEDGE_FACTOR * typical))

    def _hedge(self, assignment: Assignment) -> None:
        tried = {*assignment.failures, *(call.seat for call in assignment.calls.values())}
        other = self._members.another(assignment.request.shards, tried)
        if other is None:
            assignment.no_alternative = True
        else:
            self._hedged += 1
            self._ask(assignment, other, new=True)

    def _kind(self, assignment: Assignment) -> Hashable:
        """Equal for steps that take about the same time: the same step, for queries of similar length."""
        request = assignment.request
        return request.kind, len(self._replies), request.alone, len(request.query).bit_length()

    def _give_up(self, assignments: list[Assignment]) -> None:
        if self._partial == "allow":
            self._leave_out(assignments, late=True)
            return
        shards = tuple(sorted(shard for assignment in assignments for shard in assignment.request.shards))
        causes = [assignment.last_error for assignment in assignments if assignment.last_error is not None]
        which = f"shard{'s' * (len(shards) > 1)} {', '.join(map(str, shards))}"
        cause = f"; last error: {causes[-1]}" if causes else ""
        raise ShardsUnavailableError(f"no member answered for {which} within {self._timeout:g} s{cause}", shards)

    def _leave_out(self, assignments: list[Assignment], *, late: bool) -> None:
        """Restarts the search without these parts, because the agreements so far included their documents.

        If all members have failed at a part with several shards, each of its shards is first tried separately: maybe
        only one of them causes the failure.
        """
        cover = [
            (assignment.seat, assignment.request.shards)
            for assignment in self._assignments
            if assignment not in assignments
        ]
        for assignment in assignments:
            if late or len(assignment.request.shards) == 1:
                self._missing.update(assignment.request.shards)
            else:
                cover += [(assignment.seat, (shard,)) for shard in assignment.request.shards]
        self.stop()
        self._begin(cover)


def run(
    members: Members,
    sizes: Sequence[int],
    requests: Sequence[ToRequest],
    latencies: LatencyHistory,
    *,
    timeout: float,
    partial: Partial,
) -> list[MemberAnswers]:
    """Runs searches, several at the same time, and returns the result of each.

    ``sizes`` has the tokens of each shard in the version that is searched. Other threads may search another version,
    with another number of shards, with the same members.
    """
    found: dict[int, MemberAnswers] = {}
    active: dict[int, Search] = {}
    waiting = deque(enumerate(requests))
    try:
        while len(found) < len(requests):
            while waiting and len(active) < CONCURRENT_SEARCHES:
                number, to_request = waiting.popleft()
                active[number] = Search(members, sizes, to_request, latencies, timeout=timeout, partial=partial)
            seconds = min(search.tick() for search in active.values())
            calls = [call for search in active.values() for call in search.calls]
            done = members.wait(calls, seconds, for_all=len(active) == 1)
            for number, search in list(active.items()):
                search.take(done)
                if search.found is not None:
                    found[number] = search.found
                    del active[number]
    finally:
        for search in active.values():
            search.stop()
    return [found[number] for number in range(len(requests))]

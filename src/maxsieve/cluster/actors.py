"""Members as Ray actors on the nodes of a cluster. Each actor serves the shards that are placed on it.

An actor searches all its shards as one snapshot, with all threads of its node. So a search over the shards of one node
is a single call. Ray restarts an actor when its process ends. When its node is lost, its shards move to other nodes.
An actor reserves no CPUs in Ray, so that tasks that reserve CPUs can run on the same node.

An idle actor has 131 MB resident: 68 MB are files of libraries, which it shares with all other processes of Ray on the
node, and 62 MB are its own. A Ray actor that does nothing has 125 MB, and 59 MB of these are its own: when it sends its
first result, Ray imports NumPy, pyarrow, pydantic and starlette, because it has serializers for them.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from maxsieve.cluster.coordinator import ShardsUnavailableError
from maxsieve.cluster.engine import LostMemberError, MemberInfo, Shards
from maxsieve.cluster.member import Member
from maxsieve.cluster.placement import Placement, Seat, cover, place
from maxsieve.cluster.ray_errors import reason_of
from maxsieve.common.optional import optional
from maxsieve.errors import ClosedIndexError, MaxsieveError

CONCURRENT_CALLS = 16
"""The number of calls that an actor runs at the same time, so that a long search does not block a short one."""

NODE_CHECK_INTERVAL = 5.0
"""Seconds between two checks of the list of nodes."""

PING_INTERVAL = 0.5
"""Seconds between two attempts to reach a suspected member."""

MAX_WAIT = 60.0
"""The longest single wait, in seconds. A caller that must wait longer calls again."""

WAIT_FOR_ALL = 0.02
"""Seconds to wait for all calls together. After that, the search handles finished calls and late members."""

START_TIMEOUT = 60.0
"""Seconds to wait until all members have started. After that, a search uses only the members that have started."""


class ShardActor:
    """A member as a Ray actor.

    Arguments and results are pickled here, not by Ray: Ray's pickler, which supports any function and class, takes
    several times as long. Ray sends bytes unchanged.
    """

    def __init__(self, path: Path, members_on_node: int) -> None:
        self._member = Member(path, sharing_node_with=members_on_node)

    def advance(self, packed: bytes) -> bytes:
        """Drops sessions that will not be continued, and then calls `Member.advance`.

        An error is returned as a result. If it were raised and no caller waited for it any more, Ray would print it.
        """
        forgotten, arguments = pickle.loads(packed)
        for session in forgotten:
            self._member.drop(session)
        try:
            return _pack(self._member.advance(*arguments))
        except Exception as problem:
            return _packed_error(problem)

    def drop(self, session: str) -> None:
        """`Member.drop`."""
        self._member.drop(session)

    def pid(self) -> int:
        """Its process id. An answer also shows that the actor is alive."""
        return os.getpid()


class DeadMemberError(LostMemberError):
    """A member that Ray will not restart, for example because its node is lost."""


class UnsentCall:
    """A call that could not be sent, because the seat has no actor."""


class ActorPool:
    """The actors of one corpus. Actors are added and removed when nodes join and leave the cluster.

    A seat is suspected after its actor was started, lost or late, until the actor answers. Suspected seats get no part
    of a new search as long as there are others.
    """

    now = staticmethod(time.monotonic)

    def __init__(self, ray: Any, path: Path, *, replicas: int, actors_per_node: int) -> None:
        self._ray, self._path, self._replicas, self._per_node = ray, path, replicas, actors_per_node
        self._lock = RLock()
        self._actors: dict[Seat, Any] = {}
        self._suspected: dict[Seat, tuple[Any, float]] = {}
        self._forgotten: dict[Seat, list[str]] = {}
        self._sizes: list[int] = []
        self._placement = Placement((), ())
        self._nodes_checked, self._turns, self._closed = -NODE_CHECK_INTERVAL, count(), False
        self._connection = self._worker_id

    def serve(self, sizes: Sequence[int]) -> None:
        """Places the shards, given the number of tokens of each, and starts missing actors."""
        with self._lock:
            first, changed = not self._actors, len(sizes) != len(self._sizes)
            self._sizes = list(sizes)
            if changed:
                self._update_nodes(force=True)
        if first:
            self._ray.wait(
                [ping for ping, _ in self._suspected.values()], num_returns=len(self._suspected), timeout=START_TIMEOUT
            )

    @property
    def connected(self) -> bool:
        """Whether the connection to Ray with which the actors were started still exists: actors end with it."""
        return bool(self._ray.is_initialized() and self._worker_id == self._connection)

    @property
    def _worker_id(self) -> Any:
        return self._ray.get_runtime_context().get_worker_id()

    def cover(self, sizes: Sequence[int]) -> dict[Seat, Shards]:
        """Seats that together answer for every shard; suspected seats only if there are no others.

        After `rebalance`, searches of the version before it may still run. So the number of shards is the caller's.
        """
        with self._lock:
            if self._suspected or self._closed or self.now() - self._nodes_checked > NODE_CHECK_INTERVAL:
                self._look_around()
            if not self._placement.seats:
                raise ShardsUnavailableError("the Ray cluster has no live node", tuple(range(len(sizes))))
            placement = self._placement
            if len(sizes) != len(placement.owners):
                placement = self._place(sizes, {seat.node for seat in placement.seats})
            return cover(sizes, placement, avoid=self._suspected, turn=next(self._turns))

    def another(self, shards: Shards, tried: Collection[Seat]) -> Seat | None:
        """A seat that can take over some shards: first those that serve them, then others, then suspected ones."""
        with self._lock:
            self._look_around()  # a waiting search must notice new nodes
            able = [seat for seat in self._placement.seats if seat not in tried]
            owners = self._placement.owners
            serves = Counter(seat for shard in shards if shard < len(owners) for seat in owners[shard])
            return min(able, key=lambda seat: (seat in self._suspected, -serves[seat]), default=None)

    def start(self, seat: Seat, method: str, *arguments: Any) -> Hashable:
        """Starts a call."""
        actor = self._actors.get(seat)
        if actor is None:
            return UnsentCall()
        given = (_pack((self._forgotten.pop(seat, ()), arguments)),) if method == "advance" else arguments
        try:
            return getattr(actor, method).remote(*given)  # type: ignore[no-any-return]
        except Exception:  # Ray has no specific exception for an unknown actor
            return UnsentCall()

    def wait(self, calls: Sequence[Hashable], seconds: float, *, for_all: bool) -> Mapping[Hashable, Any]:
        """Waits for calls, for at most this many seconds. Returns the calls that are done, each with its result."""
        if unsent := [call for call in calls if isinstance(call, UnsentCall)]:
            return {call: LostMemberError("the node of the member is lost") for call in unsent}
        if not calls:
            time.sleep(min(seconds, MAX_WAIT))
            return {}
        if for_all:
            done, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=min(seconds, WAIT_FOR_ALL))
        else:
            done, left = self._ray.wait(list(calls), num_returns=1, timeout=min(seconds, MAX_WAIT))
            if done and left:
                done += self._ray.wait(left, num_returns=len(left), timeout=0)[0]
        return self._results(done)

    def _results(self, done: Sequence[Any]) -> dict[Hashable, Any]:
        """The results of finished calls, or their exceptions."""
        if not done:
            return {}
        try:
            packed = self._ray.get(list(done))  # all at once, which is faster
        except self._ray.exceptions.RayError:
            return {call: self._result(call) for call in done}
        return {call: _unpack(result) for call, result in zip(done, packed, strict=True)}

    def _result(self, call: Any) -> Any:
        """The result of one finished call, or its exception."""
        errors = self._ray.exceptions
        try:
            return _unpack(self._ray.get(call))
        except errors.RayTaskError as problem:
            return problem.cause
        except (errors.ActorDiedError, errors.ActorUnschedulableError) as problem:
            return DeadMemberError(reason_of(problem))
        except errors.RayError as problem:
            return LostMemberError(reason_of(problem))

    def forget(self, seat: Seat, session: str) -> None:
        """Tells a member that a session will not be continued."""
        self.start(seat, "drop", session)

    def forget_later(self, seat: Seat, session: str) -> None:
        """The same, with the next call to that member. Without such a call, the session ends by its timeout."""
        with self._lock:
            self._forgotten.setdefault(seat, []).append(session)

    def suspect(self, seat: Seat) -> None:
        """Excludes a seat from new searches until it answers."""
        with self._lock:
            if seat in self._actors and seat not in self._suspected:
                self._suspected[seat] = self.start(seat, "pid"), self.now()
                self._nodes_checked = -NODE_CHECK_INTERVAL  # its node may be lost

    def present(self) -> list[MemberInfo]:
        """All members; without the process id of one that does not answer soon."""
        with self._lock:
            placement = self._placement
            calls = {seat: self.start(seat, "pid") for seat in placement.seats}
        asked = [call for call in calls.values() if not isinstance(call, UnsentCall)]
        done = self._ray.wait(asked, num_returns=len(asked), timeout=PING_INTERVAL)[0] if asked else []
        pids = {call: pid for call, pid in self._results(done).items() if isinstance(pid, int)}
        return [MemberInfo(seat.node, pids.get(call), placement.of(seat)) for seat, call in calls.items()]

    def close(self) -> None:
        """Ends all actors."""
        with self._lock:
            for actor in self._actors.values():
                self._ray.kill(actor)
            self._actors, self._suspected, self._sizes, self._placement = {}, {}, [], Placement((), ())
            self._closed = True

    def _look_around(self) -> None:
        """Notices new and lost nodes, and members that answer again. Raises `ClosedIndexError` after `close`."""
        if self._closed:
            raise ClosedIndexError("this index was closed before the search was done")
        if self.now() - self._nodes_checked > NODE_CHECK_INTERVAL:
            self._update_nodes()
        self._ping_suspected()

    def _update_nodes(self, *, force: bool = False) -> None:
        """Reads the list of live nodes. If it has changed, or with ``force``, places the shards again."""
        self._nodes_checked = self.now()
        there = [node for node in self._ray.nodes() if node["Alive"]]
        # like Ray, use a node without CPUs, such as a head node, only if there are no others
        working = [node for node in there if node["Resources"].get("CPU")] or there
        names = sorted(node["NodeID"] for node in working)
        if not force and names == sorted({seat.node for seat in self._actors}):
            return
        self._placement = self._place(self._sizes, names)
        for seat in set(self._actors).difference(self._placement.seats):
            del self._actors[seat]
            self._suspected.pop(seat, None)
            self._forgotten.pop(seat, None)
        for seat in self._placement.seats:
            if seat not in self._actors:
                self._start(seat)

    def _place(self, sizes: Sequence[int], nodes: Iterable[str]) -> Placement:
        return place(sizes, nodes, replicas=self._replicas, actors_per_node=self._per_node, before=self._placement)

    def _start(self, seat: Seat) -> None:
        strategies = optional("ray.util.scheduling_strategies", "ray")
        actor = self._ray.remote(ShardActor).options(
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=CONCURRENT_CALLS,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(seat.node, soft=False),
        )
        self._actors[seat] = actor.remote(self._path, self._per_node)
        self._suspected[seat] = self.start(seat, "pid"), self.now()

    def _ping_suspected(self) -> None:
        """Stops suspecting the seats that have answered, and pings the others again at intervals."""
        for seat, (ping, asked) in list(self._suspected.items()):
            if not isinstance(ping, UnsentCall) and not self._ray.wait([ping], timeout=0)[0]:
                continue
            answer = LostMemberError() if isinstance(ping, UnsentCall) else self._result(ping)
            if not isinstance(answer, Exception):
                del self._suspected[seat]
                continue
            again = self.now() - asked > PING_INTERVAL
            if isinstance(answer, DeadMemberError):
                self._nodes_checked = -NODE_CHECK_INTERVAL
                if again:
                    self._start(seat)
            elif again:
                self._suspected[seat] = self.start(seat, "pid"), self.now()


def _pack(what: Any) -> bytes:
    return pickle.dumps(what, protocol=5)


def _packed_error(problem: Exception) -> bytes:
    """A pickled error. If it can't be pickled, a `MaxsieveError` with its message."""
    try:
        packed = _pack(problem)
        pickle.loads(packed)
    except Exception:
        return _pack(MaxsieveError(f"{type(problem).__name__}: {problem}"))
    return packed


def _unpack(given: Any) -> Any:
    """The result of an actor's method: pickled bytes, or a process id as it is."""
    return pickle.loads(given) if isinstance(given, bytes) else given

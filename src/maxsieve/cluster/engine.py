"""The interface of what runs tasks and members on other machines. `ray_engine` implements it with Ray."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from maxsieve.cluster.manifest import ShardVersion
from maxsieve.cluster.placement import Seat

Shards: TypeAlias = tuple[int, ...]
ShardChange: TypeAlias = Callable[..., ShardVersion]
Run: TypeAlias = Callable[[ShardChange, Mapping[int, tuple[Any, ...]]], Iterable[tuple[int, ShardVersion]]]
"""Calls a function for each given shard, in any process, and yields each new version when it is done."""


class LostMemberError(Exception):
    """A member could not be reached, or its process or node has ended."""


class MemberInfo(NamedTuple):
    """A member: its node, its process id (None if it does not answer), and the shards it serves."""

    node: str
    pid: int | None
    shards: Shards


class Members(Protocol):
    """The members of a corpus, as a search sees them. All times are measured by their clock (`now`)."""

    def serve(self, sizes: Sequence[int]) -> None:
        """Places the shards, given the number of tokens of each, and starts missing members."""

    @property
    def connected(self) -> bool:
        """Whether the members can still be reached from this process."""

    def cover(self, sizes: Sequence[int]) -> dict[Seat, Shards]:
        """Seats that together answer for every shard, with the shards of each seat. ``sizes``: tokens of each shard."""

    def another(self, shards: Shards, tried: Collection[Seat]) -> Seat | None:
        """A seat that can take over some shards, if possible one that serves them; None if all seats were tried."""

    def start(self, seat: Seat, method: str, *arguments: Any) -> Hashable:
        """Starts a call, and returns a handle of the call."""

    def wait(self, calls: Sequence[Hashable], seconds: float, *, for_all: bool) -> Mapping[Hashable, Any]:
        """Waits for calls, for at most this many seconds. Returns the calls that are done, each with its result.

        The result of a failed call is the exception: `LostMemberError` if the member did not answer. ``for_all`` says
        that the caller can continue only when all calls are done. Then this may wait a short time for the other calls.
        """

    def forget(self, seat: Seat, session: str) -> None:
        """Tells a member that a session will not be continued. Does not wait for an answer."""

    def forget_later(self, seat: Seat, session: str) -> None:
        """The same, with the next call to that member."""

    def suspect(self, seat: Seat) -> None:
        """Excludes a seat from new searches until it answers again."""

    def now(self) -> float:
        """The current time of a monotonic clock, in seconds."""

    def present(self) -> list[MemberInfo]:
        """All members."""

    def close(self) -> None:
        """Ends all members."""


class Engine(Protocol):
    """Runs tasks and members on other machines. It connects to them when it is first used. It can be pickled."""

    @property
    def run(self) -> Run:
        """Runs a change of several shards. The function may be called more than once for a shard."""

    def members(self, path: Path) -> Members:
        """Members for the corpus in a folder, which are started by `Members.serve`."""


def in_turn(change: ShardChange, calls: Mapping[int, tuple[Any, ...]]) -> Iterator[tuple[int, ShardVersion]]:
    """Changes one shard after the other, in this process."""
    for shard, arguments in calls.items():
        yield shard, change(*arguments)

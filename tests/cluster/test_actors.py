"""What an actor returns, without Ray."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.cluster import actors
from maxsieve.cluster.actors import NODE_CHECK_INTERVAL, ActorPool, ShardActor
from maxsieve.cluster.agreement import Offers, UnknownSessionError
from maxsieve.cluster.coordinator import LostMemberError
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.member import MemberRequest, Part
from maxsieve.cluster.placement import Seat
from maxsieve.errors import ClosedIndexError, MaxsieveError, StaleVersionError
from maxsieve.storage.segments import Layout

from .holding import put


@pytest.fixture
def folder(tmp_path: Path) -> ShardedFolder:
    made = ShardedFolder.create(tmp_path / "c", Layout(4), shards=2)
    put(made, [np.ones((1, 4), np.float32)] * 10, list(range(10)))
    return made


def ask(actor: ShardActor, *arguments: Any, forgotten: tuple[str, ...] = ()) -> Any:
    return pickle.loads(actor.advance(pickle.dumps((forgotten, arguments))))


def request(folder: ShardedFolder, *, alone: bool = False, version: str | None = None) -> MemberRequest:
    query = np.ones((1, 4), np.float32)
    return MemberRequest(version or folder.manifest.fingerprint, (0, 1), alone, query, 3, ms.Certified())


def test_a_part(folder: ShardedFolder) -> None:
    part = ask(ShardActor(folder.path, 1), "s", request(folder, alone=True), ())
    assert isinstance(part, Part)
    assert part.ids == [0, 1, 2]


def test_an_error_is_a_result(folder: ShardedFolder) -> None:
    """If it were raised, Ray would print it when nobody waits for it any more."""
    actor = ShardActor(folder.path, 1)
    assert isinstance(ask(actor, "s", None, ()), UnknownSessionError)
    assert isinstance(ask(actor, "s", request(folder, version="7-0"), ()), StaleVersionError)


class OddError(Exception):
    """An error that can't be constructed from its message."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def test_an_error_that_pickle_cannot_make_again(folder: ShardedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise OddError(1, 2)

    actor = ShardActor(folder.path, 1)
    monkeypatch.setattr(actor._member, "advance", fail)
    found = ask(actor, "s", None, ())
    assert type(found) is MaxsieveError
    assert str(found) == "OddError: 1 and 2"


def test_sessions_are_forgotten_with_the_next_call(folder: ShardedFolder) -> None:
    actor = ShardActor(folder.path, 1)
    offers = ask(actor, "s", request(folder), ())
    assert isinstance(offers, Offers)
    ask(actor, "t", request(folder), (), forgotten=("s", "unknown"))
    assert list(actor._member._sessions) == ["t"]
    actor.drop("t")
    assert not actor._member._sessions


class FakeRay:
    """A Ray with some nodes that never answer."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": name, "Alive": True, "Resources": {"CPU": 2}} for name in self.names]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_worker_id=lambda: "this process")

    def remote(self, _: Any) -> Any:
        actor = SimpleNamespace(pid=SimpleNamespace(remote=object))
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *_: actor))

    def wait(self, calls: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return [], calls

    def kill(self, _: Any) -> None:
        pass


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    strategy = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *_, **__: None)
    monkeypatch.setattr(actors, "optional", lambda *_: strategy)
    return FakeRay(["a", "b"])


def test_a_search_that_waits_hears_of_new_nodes(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """All nodes are gone, and there is a new one: the next attempt uses it."""
    pool = ActorPool(ray, Path("corpus"), replicas=2, actors_per_node=1)
    pool.serve([5, 5])
    assert {seat.node for seat in pool.cover([5, 5])} == {"a", "b"}
    ray.names = ["c"]
    later = pool.now() + NODE_CHECK_INTERVAL + 1
    monkeypatch.setattr(pool, "now", lambda: later)
    assert pool.another((0, 1), ()) == Seat("c", 0)


@pytest.mark.parametrize("newer", [1, 2, 7])
def test_a_search_of_the_version_before_a_rebalance_has_all_its_shards(ray: FakeRay, newer: int) -> None:
    """One thread searches four shards while another searches a version with more or fewer shards."""
    pool = ActorPool(ray, Path("corpus"), replicas=1, actors_per_node=1)
    pool.serve([5] * 4)
    pool.serve([5] * newer)
    assert sorted(shard for shards in pool.cover([5] * 4).values() for shard in shards) == [0, 1, 2, 3]
    assert sorted(shard for shards in pool.cover([5] * newer).values() for shard in shards) == list(range(newer))
    assert pool.another((0, 3), ()) in pool.cover([5] * 4)


def test_a_closed_pool_starts_no_actor_and_gives_no_empty_answer(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is closed while another thread has queries left, and the list of nodes must be read again."""
    pool = ActorPool(ray, Path("corpus"), replicas=1, actors_per_node=1)
    pool.serve([5, 5])
    pool.close()
    later = pool.now() + NODE_CHECK_INTERVAL + 1
    monkeypatch.setattr(pool, "now", lambda: later)
    with pytest.raises(ClosedIndexError):
        pool.cover([5, 5])
    assert not pool._actors


class FakeRayError(Exception):
    actor_init_failed = False


class FakeStartError(FakeRayError):
    actor_init_failed = True


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (FakeRayError("The actor died.\n\tclass_name: ShardActor\n"), "The actor died."),
        (
            FakeStartError("The actor died, ray::ShardActor.__init__()\n  File m.py, line 1\nFileNotFoundError: no c"),
            "a worker could not start: FileNotFoundError: no c",
        ),
    ],
)
def test_a_member_that_can_not_start_says_why(ray: FakeRay, problem: Exception, message: str) -> None:
    def get(_: Any) -> Any:
        raise problem

    none = type("none", (FakeRayError,), {})
    errors = SimpleNamespace(
        RayError=FakeRayError, RayTaskError=none, ActorDiedError=FakeStartError, ActorUnschedulableError=none
    )
    ray.get, ray.exceptions = get, errors  # type: ignore[attr-defined]
    found = ActorPool(ray, Path("corpus"), replicas=1, actors_per_node=1)._result("a call")
    assert isinstance(found, LostMemberError)
    assert str(found) == message

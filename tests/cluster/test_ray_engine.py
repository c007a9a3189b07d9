"""Changes of shards as Ray tasks, with a fake Ray: what is sent, and what errors become."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from maxsieve.cluster.manifest import ShardVersion
from maxsieve.cluster.ray_engine import as_tasks
from maxsieve.errors import DamagedIndexError, MaxsieveError


class FakeRay:
    """Runs a task when its result is asked for. Like Ray, it passes the object that was put, not the reference."""

    class RayError(Exception):
        def __init__(self, text: str, cause: Exception | None = None) -> None:
            super().__init__(text)
            self.cause = cause

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(RayError=self.RayError)
        self.stored: dict[str, Any] = {}
        self.sent: list[tuple[Any, ...]] = []
        self.cancelled: list[int] = []
        self.declared: list[Any] = []
        self.interrupted = False

    def put(self, one: Any) -> str:
        name = f"object {len(self.stored)}"
        self.stored[name] = one
        return name

    def remote(self, function: Any) -> Any:
        self.declared.append(function)

        def start(*arguments: Any) -> int:
            self.sent.append(arguments)
            self.function = function
            return len(self.sent) - 1

        task = SimpleNamespace(remote=start)
        return SimpleNamespace(options=lambda **_: task)

    def wait(self, calls: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        if self.interrupted:
            raise KeyboardInterrupt
        return calls[-num_returns:], calls[:-num_returns]

    def cancel(self, call: int) -> None:
        self.cancelled.append(call)

    def get(self, call: int) -> Any:
        arguments = (self.stored.get(one, one) if isinstance(one, str) else one for one in self.sent[call])
        return self.function(*arguments)


def change(root: Path, base: ShardVersion, table: Any, more: Any) -> ShardVersion:
    assert isinstance(table, np.ndarray)
    return ShardVersion(base.folder, f"{len(table) + more:08d}.manifest", 0)


def test_what_all_tasks_share_is_sent_once() -> None:
    ray, table, root = FakeRay(), np.zeros(1000), Path("somewhere")
    shards = [ShardVersion(f"{i:04d}", "", 0) for i in range(3)]
    made = dict(as_tasks(ray)(change, {i: (root, one, table, i) for i, one in enumerate(shards)}))
    assert {i: version.manifest for i, version in made.items()} == {i: f"{1000 + i:08d}.manifest" for i in range(3)}
    assert len(ray.stored) == 1
    assert [sent[2] for sent in ray.sent] == ["object 0"] * 3
    assert [sent[:2] for sent in ray.sent] == [(root, one) for one in shards]


def test_one_task_needs_no_store_and_no_task_none_at_all() -> None:
    ray = FakeRay()
    assert len(dict(as_tasks(ray)(change, {5: (Path(), ShardVersion("0005", "", 0), np.zeros(1), 2)}))) == 1
    assert dict(as_tasks(ray)(change, {})) == {}
    assert not ray.stored


def test_a_function_is_declared_once() -> None:
    """Ray keeps each declaration, and is slower with hundreds of them. A process may commit for weeks."""
    ray = FakeRay()
    for _ in range(3):
        dict(as_tasks(ray)(change, {0: (Path(), ShardVersion("0000", "", 0), np.zeros(1), 2)}))
    assert ray.declared == [change]


def test_all_are_waited_for_before_one_that_failed_is_raised() -> None:
    ray, done = FakeRay(), []

    def fails(number: int) -> ShardVersion:
        if number == 2:
            raise ray.RayError("a long story", DamagedIndexError("the file is missing"))
        done.append(number)
        return ShardVersion(f"{number:04d}", "", 0)

    run = as_tasks(ray)(fails, {i: (i,) for i in range(4)})
    with pytest.raises(DamagedIndexError, match="the file is missing"):
        list(run)
    assert sorted(done) == [0, 1, 3]


@pytest.mark.parametrize("when", ["between results", "while waiting"])
def test_an_interruption_cancels_the_tasks_that_are_not_done(when: str) -> None:
    """Otherwise they would continue, and fill the disk with files that nobody needs."""
    ray = FakeRay()
    run = iter(as_tasks(ray)(lambda number: ShardVersion(f"{number:04d}", "", 0), {i: (i,) for i in range(4)}))
    assert next(run)[0] == 3
    if when == "between results":
        run.close()  # type: ignore[attr-defined]
    else:
        ray.interrupted = True
        with pytest.raises(KeyboardInterrupt):
            next(run)
    assert ray.cancelled == [0, 1, 2]


def test_a_lost_task_is_one_line_that_names_its_shard() -> None:
    ray = FakeRay()

    def lost(number: int) -> ShardVersion:
        raise ray.RayError("The worker died.\nTraceback: of some other process")

    with pytest.raises(MaxsieveError, match=r"^shard 7\b.*The worker died\.$"):
        list(as_tasks(ray)(lost, {7: (1,)}))

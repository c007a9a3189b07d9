"""Runs a change of several shards: one shard after the other in this process, or as Ray tasks on all nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from maxsieve.cluster.manifest import ShardVersion
from maxsieve.cluster.ray_errors import as_own_error

RETRIES = 5
"""How often a task is retried after its worker or node has died."""

Change: TypeAlias = Callable[..., ShardVersion]
Run: TypeAlias = Callable[[Change, Mapping[int, tuple[Any, ...]]], Iterable[tuple[int, ShardVersion]]]
"""Calls a function for each given shard, in any process, and yields each new version when it is done."""


def in_turn(change: Change, calls: Mapping[int, tuple[Any, ...]]) -> Iterator[tuple[int, ShardVersion]]:
    """Changes one shard after the other, in this process."""
    for shard, arguments in calls.items():
        yield shard, change(*arguments)


def as_tasks(ray: Any) -> Run:
    """Runs changes of shards as Ray tasks, all at the same time. The first error is raised when all tasks are done.

    An interruption cancels the tasks that are not done. They remove what they have written.

    A task starts from the version of its shard that the corpus names, and writes files with unique names. Its result
    becomes visible only with the commit of the corpus. So Ray can safely retry a task whose worker or node has died.
    """

    def run(change: Change, calls: Mapping[int, tuple[Any, ...]]) -> Iterator[tuple[int, ShardVersion]]:
        task = _task(ray, change)
        sent = _sent_once(ray, list(calls.values()))
        shards = {task.remote(*sent(arguments)): shard for shard, arguments in calls.items()}
        waiting, problems = list(shards), []
        try:
            while waiting:
                (done,), waiting = ray.wait(waiting, num_returns=1)
                try:
                    yield shards[done], ray.get(done)
                except ray.exceptions.RayError as problem:
                    problems.append(as_own_error(problem, f"shard {shards[done]} could not be written"))
        except BaseException:
            for left in waiting:
                ray.cancel(left)
            raise
        if problems:
            raise problems[0]

    return run


@lru_cache
def _task(ray: Any, change: Change) -> Any:
    """The function as a Ray task, the same one each time: Ray keeps every task that is declared, as long as it runs."""
    return ray.remote(change).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")


def _sent_once(ray: Any, calls: Sequence[tuple[Any, ...]]) -> Callable[[tuple[Any, ...]], Iterator[Any]]:
    """Puts large arguments that all calls share, such as a codebook, into Ray's object store: tasks get no copies."""
    shared: dict[int, Any] = {}
    for place, one in enumerate(calls[0] if len(calls) > 1 else ()):
        small = one is None or isinstance(one, (bool, int, str, Path))
        if not small and all(call[place] is one for call in calls):
            shared[place] = ray.put(one)
    return lambda call: (shared.get(place, one) for place, one in enumerate(call))

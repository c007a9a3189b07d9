"""Ray: runs tasks on the nodes of a cluster, and members as actors."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from maxsieve.cluster.actors import ActorPool
from maxsieve.cluster.engine import Run, ShardChange
from maxsieve.cluster.manifest import ShardVersion
from maxsieve.cluster.options import Cluster
from maxsieve.cluster.ray_errors import as_own_error
from maxsieve.common.optional import optional

CONNECT_TIMEOUT = 10.0
"""Seconds to wait until the head of a Ray cluster accepts a connection."""

RETRIES = 5
"""How often a task is retried after its worker or node has died."""


class RayEngine:
    """The nodes of a Ray cluster. Ray is connected to when it is first needed, and is never shut down here."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._lock = threading.Lock()
        self._ray: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RayEngine, (self.cluster,)

    @property
    def ray(self) -> Any:
        """Ray, with a connection."""
        with self._lock:
            if self._ray is None or not self._ray.is_initialized():
                self._ray = connect(self.cluster.address)
            return self._ray

    @property
    def run(self) -> Run:
        """Runs changes of shards as Ray tasks."""
        return as_tasks(self.ray)

    def members(self, path: Path) -> ActorPool:
        """Members as Ray actors."""
        options = {"replicas": self.cluster.replicas, "actors_per_node": self.cluster.actors_per_node}
        return ActorPool(self.ray, path, **options)


def connect(address: str | None) -> Any:
    """Ray, with a connection: the one that this process has, or to the cluster at an address, or to a new local Ray."""
    ray = optional("ray", "ray")
    if not ray.is_initialized():
        check_answers(address)
        local = address is None and not os.environ.get("RAY_ADDRESS")
        ray.init(
            address="local" if local else address,  # without one, Ray would join any cluster of this machine
            log_to_driver=False,
            logging_level=logging.ERROR,
            job_config=ray.job_config.JobConfig(_client_job=not _imports_from_current_folder()),
            **({"include_dashboard": False} if local else {}),
        )
    elif address not in (None, "auto", here := ray.get_runtime_context().gcs_address):
        raise ValueError(f"this process is connected to Ray at {here} already, not at {address}; ray.shutdown() first")
    return ray


def _imports_from_current_folder() -> bool:
    """Whether this process finds modules in the current folder.

    If not, its workers must not either: they would run any ``numpy.py`` there. Ray adds the current folder to their
    path, unless the job comes from a client; nothing else depends on that here.
    """
    return "" in sys.path or os.getcwd() in sys.path


def check_answers(address: str | None) -> None:
    """Raises `ConnectionError` if nothing answers at HOST:PORT. Ray itself retries for minutes, and prints warnings.

    >>> check_answers("127.0.0.1:1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ConnectionError: nothing answers at the Ray address 127.0.0.1:1: ...
    """
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isascii() or not port.isdecimal():  # a keyword, such as auto, or an address with a protocol
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ConnectionError(f"nothing answers at the Ray address {address}: {reason}") from None


def as_tasks(ray: Any) -> Run:
    """Runs changes of shards as Ray tasks, all at the same time. The first error is raised when all tasks are done.

    An interruption cancels the tasks that are not done. They remove what they have written.

    A task starts from the version of its shard that the corpus names, and writes files with unique names. Its result
    becomes visible only with the commit of the corpus. So Ray can safely retry a task whose worker or node has died.
    """

    def run(change: ShardChange, calls: Mapping[int, tuple[Any, ...]]) -> Iterator[tuple[int, ShardVersion]]:
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
def _task(ray: Any, change: ShardChange) -> Any:
    """The function as a Ray task, the same one each time: Ray keeps every task that is declared, as long as it runs."""
    return ray.remote(change).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")


def _sent_once(ray: Any, calls: Sequence[tuple[Any, ...]]) -> Callable[[tuple[Any, ...]], Iterator[Any]]:
    """Puts large arguments that all calls share, such as a codebook, into Ray's object store: tasks get no copies."""
    shared: dict[int, Any] = {}
    for place, argument in enumerate(calls[0] if len(calls) > 1 else ()):
        small = argument is None or isinstance(argument, (bool, int, str, Path))
        if not small and all(call[place] is argument for call in calls):
            shared[place] = ray.put(argument)
    return lambda call: (shared.get(place, argument) for place, argument in enumerate(call))

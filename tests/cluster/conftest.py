"""One Ray cluster for all tests of this folder: a head and two workers, each a node of its own, on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import maxsieve as ms
from benchmarks.runs.cluster.nodes import add_node, start_head
from maxsieve.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster; this process is connected to it."""
    import ray

    made = start_head()
    for _ in range(2):
        add_node(made)
    ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def sharded(cluster: Any, tmp_path: Path) -> Iterator[Callable[..., ms.Index]]:
    """A function that builds an index in shards on the cluster; its members end with the test."""
    made: list[ms.Index] = []

    def build(*arguments: Any, replicas: int = 1, actors_per_node: int = 1, **options: Any) -> ms.Index:
        where = Cluster(replicas=replicas, actors_per_node=actors_per_node)
        made.append(ms.Index.build(*arguments, path=tmp_path / f"corpus{len(made)}", cluster=where, **options))
        return made[-1]

    yield build
    for index in made:
        index.close()

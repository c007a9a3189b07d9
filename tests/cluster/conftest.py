"""One Ray cluster for all tests of this folder: a head and two workers, each a node of its own, on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runs.cluster.nodes import add_node, start_head
from maxsieve.cluster.index import ShardedIndex


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
def sharded(cluster: Any, tmp_path: Path) -> Iterator[Callable[..., ShardedIndex]]:
    """A function that builds an index in shards on the cluster; its members end with the test."""
    made: list[ShardedIndex] = []

    def build(*arguments: Any, **options: Any) -> ShardedIndex:
        made.append(ShardedIndex.build(tmp_path / f"corpus{len(made)}", *arguments, **options))
        return made[-1]

    yield build
    for index in made:
        index.close()

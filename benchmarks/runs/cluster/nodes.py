"""Nodes of a Ray cluster as processes of this machine.

Ray gives a node 30 seconds to start. A busy machine may need longer. Then the node is stopped and started again.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

NODE = {"num_cpus": 2, "object_store_memory": 80_000_000}
ATTEMPTS = 5


def start_head() -> Any:
    """A cluster of one node, to which this process is not connected yet."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    add_node(cluster, include_dashboard=False)
    return cluster


def add_node(cluster: Any, **options: Any) -> Any:
    """A further node."""
    for _ in range(ATTEMPTS - 1):
        before = children()
        with suppress(Exception):
            return cluster.add_node(**NODE, **options)
        for pid in children() - before:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return cluster.add_node(**NODE, **options)


def children() -> set[int]:
    """The processes that this one has started."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if status.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(int(status.parent.name))
    return found

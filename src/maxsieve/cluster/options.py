"""Where the members of a corpus in shards run."""

from __future__ import annotations

from dataclasses import dataclass

from maxsieve.common.checks import as_count


@dataclass(frozen=True)
class Cluster:
    """The Ray cluster whose nodes search a corpus in shards.

    address
        the address of the cluster, such as ``"auto"`` or ``"ray-head:6379"``. If this process is connected to Ray, that
        connection is used. Without an address, the environment variable ``RAY_ADDRESS`` counts; without both, a local
        Ray is started, which ends with the process or with ``ray.shutdown()``.
    replicas
        the number of nodes that serve each shard. With 2, a search continues at once when a node is lost. With 1,
        another node takes over its shards, but must first map them and read them from storage.
    actors_per_node
        the number of processes on each node. One is best, because it uses all threads.

    >>> Cluster(replicas=2)
    Cluster(address=None, replicas=2, actors_per_node=1)
    """

    address: str | None = None
    replicas: int = 1
    actors_per_node: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicas", as_count(self.replicas, "replicas", at_least=1))
        number = as_count(self.actors_per_node, "actors_per_node", at_least=1, at_most=1024)
        object.__setattr__(self, "actors_per_node", number)

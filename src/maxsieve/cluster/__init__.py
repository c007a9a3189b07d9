"""One corpus in shards, searched on the machines of a Ray cluster as if it were one index. Extra: ``maxsieve[ray]``.

>>> import tempfile, maxsieve as ms
>>> ms.Index.create(128, path=tempfile.mkdtemp() + "/corpus", shards=4)
<maxsieve.Index: 0 documents, 0 tokens, dim 128>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxsieve.cluster.options import Cluster

if TYPE_CHECKING:
    from maxsieve.cluster.coordinator import ShardsUnavailableError
    from maxsieve.cluster.searcher import ClusterSearcher
    from maxsieve.cluster.storage import ShardedStorage
    from maxsieve.common.files import PathLike
    from maxsieve.storage.segments import Layout

__all__ = ["Cluster", "ShardsUnavailableError"]


def create_shards(
    path: PathLike | None, layout: Layout, shards: int, cluster: Cluster | None
) -> tuple[ShardedStorage, ClusterSearcher]:
    """An empty corpus in a new or empty folder that all nodes share."""
    from maxsieve.cluster.folder import ShardedFolder

    if path is None:
        raise ValueError("shards need a folder that all nodes share: path=...")
    return _on_ray(ShardedFolder.create(path, layout, shards=shards), cluster)


def open_shards(path: PathLike, cluster: Cluster | None = None) -> tuple[ShardedStorage, ClusterSearcher]:
    """The corpus in a folder, at its newest version. Ray is started or connected to when it is needed."""
    from maxsieve.cluster.folder import ShardedFolder

    return _on_ray(ShardedFolder.open(path), cluster)


def _on_ray(folder: Any, cluster: Cluster | None) -> tuple[ShardedStorage, ClusterSearcher]:
    from maxsieve.cluster.ray_engine import RayEngine
    from maxsieve.cluster.searcher import ClusterSearcher
    from maxsieve.cluster.storage import ShardedStorage

    engine = RayEngine(cluster or Cluster())
    return ShardedStorage(folder, engine), ClusterSearcher(folder.path, engine)


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used. A member needs few modules, and imports only these."""
    if name != "ShardsUnavailableError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maxsieve.cluster.coordinator import ShardsUnavailableError

    return ShardsUnavailableError


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

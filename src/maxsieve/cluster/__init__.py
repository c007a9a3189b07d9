"""One corpus in shards, searched on the machines of a Ray cluster as if it were one index. Extra: ``maxsieve[ray]``.

>>> import tempfile
>>> from maxsieve.cluster import ShardedIndex
>>> ShardedIndex.create(tempfile.mkdtemp() + "/corpus", 128, shards=4)
<maxsieve.cluster.ShardedIndex: 0 documents, 0 tokens, dim 128, shards: 4>
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.cluster.collection import ShardedCollection
    from maxsieve.cluster.coordinator import ShardsUnavailableError
    from maxsieve.cluster.hits import ShardedHits
    from maxsieve.cluster.index import ShardedIndex
    from maxsieve.cluster.reports import ShardedReport

__all__ = ["ShardedCollection", "ShardedHits", "ShardedIndex", "ShardedReport", "ShardsUnavailableError"]

_HOMES = {
    "ShardedCollection": "collection",
    "ShardedHits": "hits",
    "ShardedIndex": "index",
    "ShardedReport": "reports",
    "ShardsUnavailableError": "coordinator",
}


def __getattr__(name: str) -> Any:
    """Imports a name from its module when it is first used. A member needs few names, and imports only these."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

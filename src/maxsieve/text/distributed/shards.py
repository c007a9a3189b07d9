"""The shards of a collection: their lock, and facts about them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from maxsieve.cluster.storage import ShardedStorage
from maxsieve.index import Index


def storage_of(index: Index) -> ShardedStorage:
    """The storage of an index in shards."""
    storage = index.storage
    assert isinstance(storage, ShardedStorage)
    return storage


def locking(index: Index) -> AbstractContextManager[None]:
    """Holds the writer's lock of the folder, which changes of the index need, too. The lock is reentrant."""
    return storage_of(index).folder.writing()


def facts_of(index: Index) -> dict[str, Any]:
    """The version of the corpus, the size of each shard, and the members that were started, for JSON."""
    manifest = storage_of(index).snapshot.manifest
    return {
        "generation": manifest.generation,
        "shards": [{"documents": shard.documents, "tokens": shard.tokens} for shard in manifest.shards],
        "members": [{**member._asdict(), "shards": list(member.shards)} for member in index.searcher.members()],
    }

"""Opens a folder that has either one collection or a collection in shards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from maxsieve.cluster.manifest import NAME
from maxsieve.text.collection.collection import Collection
from maxsieve.text.encoders.encoder import Encoder

if TYPE_CHECKING:
    from maxsieve.cluster.collection import ShardedCollection

AnyCollection: TypeAlias = "Collection | ShardedCollection"


def is_sharded(path: Path) -> bool:
    """Whether a folder has a collection in shards. True even if it is damaged."""
    return (path / NAME).exists()


def open_any(
    path: Path, encoder: str | Encoder | None = None, *, replicas: int = 1, address: str | None = None
) -> AnyCollection:
    """The collection in a folder. ``replicas`` and ``address`` are used only if it is in shards."""
    if not is_sharded(path):
        return Collection.open(path, encoder)
    from maxsieve.cluster.collection import ShardedCollection

    return ShardedCollection.open(path, encoder, replicas=replicas, address=address)

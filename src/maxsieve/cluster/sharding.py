"""Decides the shard of a document by a hash of its id. The result is the same on every machine and in every release."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from maxsieve.ids import Id

MOST_SHARDS = 10_000
"""The limit, because the names of their folders have four digits."""


def shard_of(id: Id, shards: int) -> int:
    """The shard of an id: BLAKE2b of its type and text, modulo the number of shards.

    If the number of shards is doubled, the documents of each shard are split over two shards.

    >>> shard_of("a page", 16), shard_of(7, 16), shard_of("7", 16)
    (8, 8, 5)
    """
    text = b"s" + id.encode("utf-8", "surrogatepass") if isinstance(id, str) else b"i%d" % id
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % shards


def shards_of(ids: Sequence[Id], shards: int) -> NDArray[np.int64]:
    """The shard of each id.

    >>> shards_of(["a page", "7"], 16).tolist()
    [8, 5]
    """
    return np.fromiter((shard_of(id, shards) for id in ids), np.int64, len(ids))


def by_shard(ids: Sequence[Id], shards: int) -> dict[int, NDArray[np.int64]]:
    """For each shard with at least one of the ids: the positions of these ids in the given list, ascending.

    >>> {shard: places.tolist() for shard, places in by_shard(["a page", "7", "a page"], 16).items()}
    {5: [1], 8: [0, 2]}
    """
    which = shards_of(ids, shards)
    order = np.argsort(which, kind="stable")
    named, firsts = np.unique(which[order], return_index=True)
    return dict(zip(named.tolist(), np.split(order, firsts[1:]), strict=True)) if len(ids) else {}

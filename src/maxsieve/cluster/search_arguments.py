"""The checked arguments of a search, the requests to members that are made from them, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.candidates import Candidates
from maxsieve.cluster.coordinator import Found, Partial, Shards
from maxsieve.cluster.member import SearchRequest
from maxsieve.cluster.reports import Best
from maxsieve.cluster.sharding import by_shard
from maxsieve.cluster.tier0_places import PlacesRequest
from maxsieve.cluster.view import View
from maxsieve.hits import Promise
from maxsieve.ids import Id
from maxsieve.policies import FixedPolicy, Policy
from maxsieve.where import Where


class Answer(NamedTuple):
    """The result of one query: the ``deep`` best documents, and the ``places`` of the hits in this list.

    ``promise`` is the guarantee of `Calibrated` for it.
    """

    found: Found
    best: Best
    deep: int
    places: list[int]
    promise: Promise | None

    @property
    def ids(self) -> list[Id]:
        """The ids of the hits."""
        return [self.best.ids[place] for place in self.places]

    @property
    def scores(self) -> NDArray[np.float32]:
        """The scores of the hits."""
        return self.best.scores[self.places]


class SearchArguments(NamedTuple):
    """The arguments of a search, checked."""

    rows: list[NDArray[np.float32]]
    k: int
    policy: Policy
    candidates: Sequence[Candidates]
    exclude: Sequence[list[Id] | None]
    where: Sequence[Where | None]
    threads: int | None
    partial: Partial
    timeout: float


def search_request(
    view: View, arguments: SearchArguments, number: int, k: int, policy: FixedPolicy
) -> Callable[[Shards, bool], SearchRequest]:
    """A function that makes the request for one query from a member's shards, and from whether these are all shards."""
    manifest = view.manifest
    candidates, exclude = (
        _Shared(ids, len(manifest.shards)) for ids in (arguments.candidates[number], arguments.exclude[number])
    )

    def to_request(shards: Shards, alone: bool) -> SearchRequest:
        return SearchRequest(
            version=manifest.fingerprint,
            shards=shards,
            alone=alone,
            query=arguments.rows[number],
            k=k,
            policy=policy,
            candidates=candidates.all if alone else candidates.of(shards),
            exclude=exclude.all if alone else exclude.of(shards),
            where=arguments.where[number],
            threads=arguments.threads,
        )

    return to_request


class _Shared:
    """Ids, or None. They are divided by shard only once, even if many members are asked."""

    def __init__(self, ids: Any, shards: int) -> None:
        self.all: list[Id] | None = ids
        self._count = shards

    def of(self, shards: Shards) -> list[Id] | None:
        """The ids of some shards."""
        if (ids := self.all) is None:
            return None
        return [ids[place] for shard in shards for place in self._places.get(shard, ())]

    @cached_property
    def _places(self) -> dict[int, NDArray[np.int64]]:
        return by_shard(self.all or [], self._count)


def places_request(
    version: str, query: NDArray[np.float32], wanted: NDArray[np.int64], shards: Shards, alone: bool
) -> PlacesRequest:
    """A request to a member for the places by tier 0 of the documents with these sequence numbers."""
    return PlacesRequest(version, shards, alone, query, wanted)

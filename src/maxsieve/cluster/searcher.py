"""Searches a corpus in shards by the members of a cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.coordinator import LatencyHistory, MemberAnswers, ToRequest, run
from maxsieve.cluster.engine import Engine, MemberInfo, Members, Shards
from maxsieve.cluster.manifest import by_shard, read_cluster
from maxsieve.cluster.member import MemberRequest
from maxsieve.cluster.reports import Best, merge_parts, merge_reports
from maxsieve.cluster.snapshot import ShardedSnapshot, ShardPlace
from maxsieve.cluster.tier0_places import PlacesRequest
from maxsieve.errors import ClosedIndexError, StaleVersionError
from maxsieve.hits import Promise, Report
from maxsieve.ids import Id
from maxsieve.options import Candidates, SearchOptions
from maxsieve.policies import FixedPolicy
from maxsieve.searcher import Rows
from maxsieve.storage.calibration import INFINITE
from maxsieve.storage.codebook import Walk
from maxsieve.storage.storage import AnySnapshot

ATTEMPTS, FIRST_WAIT, LONGEST_WAIT = 20, 0.05, 2.0
"""How often members are asked for the newest version, and the seconds between: storage may show it with a delay."""


class ClusterSearcher:
    """The members of a corpus. They start with the first search, and end with `close` or with this process."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path, self._engine = path, engine
        self._lock = threading.RLock()
        self._members: Members | None = None
        self._served: list[int] = []
        self._closed = False
        self.latencies = LatencyHistory()

    def __reduce__(self) -> tuple[Any, ...]:
        return ClusterSearcher, (self._path, self._engine)

    def start(self, snapshot: AnySnapshot) -> None:
        """Starts the members, which takes seconds. Otherwise the first search does this."""
        assert isinstance(snapshot, ShardedSnapshot)
        self.serving(snapshot)

    def members(self) -> list[MemberInfo]:
        """The members that were started."""
        return [] if self._members is None else self._members.present()

    def serving(self, snapshot: ShardedSnapshot) -> Members:
        """The members, with the shards of a version placed on them."""
        with self._lock:
            if self._closed:
                raise ClosedIndexError("this index is closed")
            if self._members is None or not self._members.connected:
                self._members, self._served = self._engine.members(self._path), []
            if (sizes := snapshot.sizes) != self._served:
                self._members.serve(sizes)
                self._served = sizes
            return self._members

    def prepare(self, snapshot: AnySnapshot, queries: Sequence[Rows], options: SearchOptions) -> ShardedSearch:
        """A search for these queries."""
        assert isinstance(snapshot, ShardedSnapshot)
        if options.trace:
            raise ValueError("a search over shards can't be traced: its steps happen in several processes")
        if options.candidates.given:
            options = replace(options, candidates=options.candidates.map(lambda ids: _as_ids(snapshot, ids)))
        return ShardedSearch(self, snapshot, queries, options)

    def close(self) -> None:
        """Ends the members."""
        with self._lock:
            if self._members is not None:
                self._members.close()
            self._members, self._closed = None, True


@dataclass(frozen=True, eq=False)
class ShardedSearch:
    """A search of one version of a corpus by members. Candidates are ids, not masks."""

    _searcher: ClusterSearcher
    _snapshot: ShardedSnapshot
    _queries: Sequence[Rows]
    _options: SearchOptions

    def best(self, queries: Sequence[int], k: int, policy: FixedPolicy) -> list[ShardedRanking]:
        """The k best documents for some of the queries."""
        began = time.perf_counter()
        answers = self._ask([self._request(query, k, policy) for query in queries])
        best = [merge_parts(answer.parts, k) for answer in answers]
        most = max((found.documents for found in best), default=0)
        deep = min(k, max(self._options.k, most))  # as in one index
        seconds = time.perf_counter() - began
        rankings = []
        for answer, found in zip(answers, best, strict=True):
            self._snapshot.hold(found.ids)
            taken = seconds if len(answers) == 1 else answer.seconds
            rankings.append(ShardedRanking(self._snapshot, answer, found, deep, taken))
        return rankings

    def ranks(
        self, wanted: Sequence[tuple[int, list[Id]]], walk: Walk | None, until: int | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """The ranks, from 1, of some documents in the list by proxy."""
        version, options = self._snapshot.manifest.fingerprint, self._options
        orders = self._snapshot.orders({id for _, ids in wanted for id in ids})
        requests: list[ToRequest] = []
        for query, ids in wanted:
            sequence, where = np.array([orders[id] for id in ids], np.int64), options.where.of(query)
            rows = self._queries[query]
            requests.append(
                partial(PlacesRequest, version, query=rows, wanted=sequence, walk=walk, where=where, until=until)
            )
        for answer in self._ask(requests):
            before = np.stack([part.before for part in answer.parts])
            yield np.where(before.min(axis=0) < 0, INFINITE, before.sum(axis=0) + 1)

    def _ask(self, requests: Sequence[ToRequest]) -> list[MemberAnswers]:
        """The answers of members. If a member does not see this version yet, and it is the newest one, asks again."""
        members, options, snapshot = self._searcher.serving(self._snapshot), self._options, self._snapshot
        arguments = members, snapshot.sizes, requests, self._searcher.latencies
        wait = FIRST_WAIT
        for _ in range(ATTEMPTS):
            with suppress(StaleVersionError):
                return run(*arguments, timeout=options.timeout, partial=options.partial)
            if read_cluster(snapshot.path) != snapshot.manifest:
                break
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        return run(*arguments, timeout=options.timeout, partial=options.partial)

    def _request(self, query: int, k: int, policy: FixedPolicy) -> Callable[[Shards, bool], MemberRequest]:
        """A function that makes the request from a member's shards, and from whether these are all shards."""
        manifest, options = self._snapshot.manifest, self._options
        shards = len(manifest.shards)
        candidates, exclude = (
            IdsByShard(options.candidates.of(query), shards),
            IdsByShard(options.exclude.of(query), shards),
        )

        def to_request(shards: Shards, alone: bool) -> MemberRequest:
            return MemberRequest(
                version=manifest.fingerprint,
                shards=shards,
                alone=alone,
                query=self._queries[query],
                k=k,
                policy=policy,
                candidates=candidates.all if alone else candidates.of(shards),
                exclude=exclude.all if alone else exclude.of(shards),
                where=options.where.of(query),
                threads=options.threads,
            )

        return to_request


class ShardedRanking:
    """The best documents of all members for one query."""

    def __init__(self, snapshot: ShardedSnapshot, answer: MemberAnswers, best: Best, deep: int, seconds: float) -> None:
        self._snapshot, self._answer, self._best, self._deep, self._seconds = snapshot, answer, best, deep, seconds
        self.ids, self.scores, self.sequence, self.n_searched = best

    @cached_property
    def places(self) -> list[ShardPlace]:
        """Where the documents are."""
        known = self._snapshot.known(self.ids)
        return [known[id] for id in self.ids]

    def report(self, promise: Promise | None) -> Report:
        """How they were found, and what is guaranteed."""
        return merge_reports(self._answer, self._best, self._deep, promise, self._seconds)

    def trace(self, chosen: Sequence[int] | None) -> None:
        """None: members record no trace."""


@dataclass(frozen=True, eq=False)
class IdsByShard:
    """Ids, or None. They are divided by shard only once, even if many members are asked."""

    all: Any
    n_shards: int

    def of(self, shards: Shards) -> list[Id] | None:
        """The ids of some shards."""
        if (ids := self.all) is None:
            return None
        return [ids[place] for shard in shards for place in self._places.get(shard, ())]

    @cached_property
    def _places(self) -> dict[int, NDArray[np.int64]]:
        return by_shard(self.all or [], self.n_shards)


def _as_ids(snapshot: ShardedSnapshot, candidates: Candidates) -> list[Id] | None:
    """Candidates as ids. A mask has one entry for each id, in insertion order."""
    if candidates is None or isinstance(candidates, list):
        return candidates
    ids = snapshot.ids_in_order()
    if candidates.shape != (len(ids),):
        raise ValueError(f"candidates is a mask of shape {candidates.shape} for {len(ids)} documents")
    return [ids[i] for i in np.flatnonzero(candidates)]

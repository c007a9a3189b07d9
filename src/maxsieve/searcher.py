"""Who searches: the engine in this process, or the members of a cluster.

A search asks a `Searcher` for the best documents of a version of the index, once or, with groups, several times. Hits
and scores are the same with every searcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.common.threads import thread_count
from maxsieve.hits import Promise, Ranking, Report, Round, to_guarantee
from maxsieve.ids import Id
from maxsieve.options import Candidates, SearchOptions
from maxsieve.policies import CalibratedDepth, FixedPolicy, to_native
from maxsieve.storage.codebook import Walk
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot
from maxsieve.trace import Trace, to_trace
from maxsieve.where import Where

Rows: TypeAlias = NDArray[np.float32]


class PreparedSearch(Protocol):
    """A search of one version of an index, for some queries with their options."""

    def best(self, queries: Sequence[int], k: int, policy: FixedPolicy) -> Sequence[Ranking]:
        """The k best documents for some of the queries, by their numbers."""

    def ranks(
        self, wanted: Sequence[tuple[int, list[Id]]], walk: Walk | None, until: int | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """The ranks, from 1, of some documents in the list by proxy; the largest integer for one without a place.

        Each tuple has the number of a query, and the ids of documents that it may find. With ``until``, the list has
        only documents before this number, in insertion order.
        """


class Searcher(Protocol):
    """Searches versions of an index."""

    def prepare(self, snapshot: AnySnapshot, queries: Sequence[Rows], options: SearchOptions) -> PreparedSearch:
        """A search for these queries."""

    def start(self, snapshot: AnySnapshot) -> None:
        """Prepares for searches of a version. Otherwise the first search does this."""
        return

    def members(self) -> Sequence[Any]:
        """The members of a cluster that were started; none in this process."""
        return ()

    def close(self) -> None:
        """Releases everything."""
        return


class LocalSearcher(Searcher):
    """The engine in this process."""

    def prepare(self, snapshot: AnySnapshot, queries: Sequence[Rows], options: SearchOptions) -> LocalSearch:
        """A search for these queries."""
        return LocalSearch(snapshot.here, queries, options)


class LocalSearch:
    """A search of a snapshot by the engine in this process."""

    __slots__ = ("_options", "_positions", "_queries", "_snapshot")

    def __init__(self, snapshot: Snapshot, queries: Sequence[Rows], options: SearchOptions) -> None:
        self._snapshot, self._queries, self._options = snapshot, queries, options
        self._positions: Sequence[NDArray[np.int64] | _core.Candidates]
        if options.restricted:
            self._positions = positions_for(snapshot, options, len(queries))
        else:
            self._positions = [snapshot.all_searchable] * len(queries)

    def best(self, queries: Sequence[int], k: int, policy: FixedPolicy) -> list[LocalRanking]:
        """The k best documents for some of the queries."""
        snapshot, options, rows, positions = self._snapshot, self._options, self._queries, self._positions
        snapshot.expect(scattered=type(policy) is CalibratedDepth)
        if len(queries) < len(rows):
            rows, positions = [rows[i] for i in queries], [positions[i] for i in queries]
        if k > options.k:
            k = min(k, max(options.k, *map(len, positions)))
        threads = thread_count(options.threads)
        native = to_native(policy, snapshot.added_since(policy.since) if type(policy) is CalibratedDepth else None)
        answers = _core.search(snapshot.corpus, rows, positions, k, native, threads, options.trace)
        return [LocalRanking(snapshot, answer, len(some)) for answer, some in zip(answers, positions, strict=True)]

    def ranks(
        self, wanted: Sequence[tuple[int, list[Id]]], walk: Walk | None, until: int | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """The ranks, from 1, of some documents in the list by proxy."""
        snapshot, threads = self._snapshot, thread_count(self._options.threads)
        for query, ids in wanted:
            candidates = self._positions[query]
            if isinstance(candidates, _core.Candidates):
                candidates = snapshot.searchable
            if until is not None:
                candidates = candidates[snapshot.numbers(candidates) < until]
            known = snapshot.known(ids)
            positions = np.array([known[id] for id in ids], np.int64)
            ascending = np.argsort(positions)
            ranks = np.empty_like(positions)
            ranks[ascending] = _core.ranks(
                snapshot.corpus, self._queries[query], candidates, positions[ascending], threads, walk
            )
            yield ranks


class LocalRanking:
    """The engine's answer to one query."""

    __slots__ = ("_answer", "_snapshot", "ids", "n_searched", "places", "scores")

    def __init__(self, snapshot: Snapshot, answer: _core.Answer, n_searched: int) -> None:
        self._snapshot, self._answer, self.n_searched = snapshot, answer, n_searched
        self.scores, self.places = answer.scores, answer.positions
        self.ids = snapshot.ids_at(self.places)

    def report(self, promise: Promise | None) -> Report:
        """How they were found, and what is guaranteed."""
        answer = self._answer
        return Report(
            to_guarantee(answer.guarantee, promise),
            answer.coverage,
            answer.survivors,
            answer.rescored,
            [Round(*entry) for entry in answer.rounds],
            answer.isa,
            answer.seconds,
            answer.stages,
            answer.counts,
            *(() if promise is None else (promise.calibrated_on, *promise.changes, promise.where)),
        )

    def trace(self, chosen: Sequence[int] | None) -> Trace | None:
        """The steps of the search, if they were recorded."""
        traced = self._answer.trace
        if traced is None:
            return None
        hits = self.places if chosen is None else [self.places[i] for i in chosen]
        return to_trace(traced, self._snapshot, hits)


def positions_for(snapshot: Snapshot, options: SearchOptions, queries: int) -> Sequence[NDArray[np.int64]]:
    """The positions of the documents that each query may find. Queries with the same sets share an array."""
    known: dict[tuple[int, int, str], NDArray[np.int64]] = {}
    found = []
    for query in range(queries):
        wanted, unwanted, where = options.candidates.of(query), options.exclude.of(query), options.where.of(query)
        key = id(wanted), id(unwanted), "" if where is None else where.key
        if key not in known:
            known[key] = select(snapshot, wanted, unwanted, where)
        found.append(known[key])
    return found


def select(
    snapshot: Snapshot, candidates: Candidates, exclude: list[Id] | None, where: Where | None
) -> NDArray[np.int64]:
    """Positions of the non-empty documents to search, ascending."""
    chosen = snapshot.searchable
    if candidates is not None:
        if isinstance(candidates, list):
            chosen = snapshot.positions(candidates, "candidates")
        elif candidates.shape != snapshot.live.shape:
            raise ValueError(f"candidates is a mask of shape {candidates.shape} for {len(snapshot.live)} documents")
        else:
            chosen = snapshot.live[candidates]
        chosen = chosen[snapshot.lengths[chosen] > 0]
    if exclude is not None:
        chosen = np.setdiff1d(chosen, snapshot.positions(exclude, "exclude"), assume_unique=True)
    return chosen if where is None else chosen[snapshot.matching(where)[chosen]]

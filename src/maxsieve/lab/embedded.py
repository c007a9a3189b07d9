"""A corpus as the experiments see it: an index, the queries' vectors, judgements, and what exhaustive scoring finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import Bandit, Certified, Exhaustive, Hits, Index
from maxsieve.common.threads import thread_count
from maxsieve.lab.metrics.quality import quality, ranked
from maxsieve.policies import Policy

F32 = NDArray[np.float32]

GROUP = 32
"""Queries that are searched in one call."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Documents in an index, with str ids; queries, judgements and exclusions by query id."""

    name: str
    encoder: str
    """Which vectors these are, in words: ``"minilm, d = 128"``."""
    index: Index
    queries: dict[str, F32]
    judgements: dict[str, dict[str, int]] = field(default_factory=dict)
    exclusions: dict[str, list[str]] = field(default_factory=dict)
    """Documents that must not be a query's hits."""
    sweeps: dict[tuple[object, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """What experiments that share a sweep have computed. (A copy by `replace` begins without what was computed.)"""
    _rankings: dict[int, dict[str, list[str]]] = field(default_factory=dict, init=False, repr=False)
    _firsts: dict[int, Embedded] = field(default_factory=dict, init=False, repr=False)

    def first(self, count: int | None) -> Embedded:
        """The same documents with the first queries only."""
        if count is None or count >= len(self.queries):
            return self
        if count not in self._firsts:
            queries = dict(list(self.queries.items())[:count])
            self._firsts[count] = replace(self, queries=queries)
        return self._firsts[count]

    def with_vectors(self, encoder: str, change: Callable[[F32], F32], *, queries_too: bool) -> Embedded:
        """A copy in memory whose documents, and queries if wanted, have other vectors."""
        ids = [str(one) for one in self.index.ids]
        index = Index.build((change(self.vectors(one)) for one in ids), ids)
        queries = {one: change(rows) for one, rows in self.queries.items()} if queries_too else self.queries
        return replace(self, encoder=encoder, index=index, queries=queries)

    def vectors(self, one: str) -> F32:
        """A document's vectors."""
        return np.asarray(self.index.vectors(one), np.float32)

    @cached_property
    def query_tokens(self) -> float:
        """Tokens of a query, on average."""
        return float(np.mean([len(rows) for rows in self.queries.values()]))

    def search(
        self,
        k: int,
        policy: Policy,
        *,
        threads: int | None = None,
        queries: dict[str, F32] | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> dict[str, Hits]:
        """The hits of every query (or of other vectors in their place), by its id."""
        return dict(self._searched(k, policy, threads, self.queries if queries is None else queries, advance))

    def truth(self, k: int, *, threads: int | None = None) -> dict[str, list[str]]:
        """The k best documents of every query by exhaustive scoring; computed once for the largest k asked for."""
        known = next((self._rankings[size] for size in sorted(self._rankings) if size >= k), None)
        if known is None:
            hits = self.search(k, Exhaustive(), threads=threads)
            known = self._rankings[k] = {one: to_strings(found) for one, found in hits.items()}
        return {one: ranking[:k] for one, ranking in known.items()}

    def quality(self, answers: Mapping[str, Sequence[str]], measures: Sequence[str]) -> dict[str, dict[str, float]]:
        """How well answers, ids best first, satisfy the judgements: measure -> query -> value, for judged queries."""
        judged = {query: self.judgements[query] for query in self.queries if query in self.judgements}
        return quality({query: ranked(found) for query, found in answers.items()}, judged, measures)

    def cells(self, query: F32, *, threads: int | None = None) -> F32:
        """The matrix H [documents, query tokens] of exact cells, documents in the order of ``index.ids``."""
        state = self.index.snapshot
        return state.cells(np.ascontiguousarray(query), thread_count(threads))[state.live]

    def _searched(
        self, k: int, policy: Policy, threads: int | None, queries: dict[str, F32], advance: Callable[[int], None]
    ) -> Iterator[tuple[str, Hits]]:
        names = list(queries)
        for start in range(0, len(names), GROUP):
            some = names[start : start + GROUP]
            exclude = [self.exclusions.get(one) for one in some] if self.exclusions else None
            hits = self.index.search_many(
                [queries[one] for one in some], k, policy=policy, exclude=exclude, threads=threads
            )
            advance(len(some))
            yield from zip(some, hits, strict=True)


def to_strings(hits: Hits) -> list[str]:
    """The ids of hits; those of a corpus are all str."""
    return [str(one) for one in hits.ids]


def mean_coverage(answers: Sequence[Hits]) -> float:
    """Cells revealed over all cells, averaged over queries."""
    return float(np.mean([hits.report.coverage for hits in answers]))


def mean_rescored(answers: Sequence[Hits]) -> float:
    """Documents scored canonically, averaged over queries."""
    return float(np.mean([hits.report.rescored for hits in answers]))


def policy_name(policy: Policy) -> str:
    """A policy in a table.

    >>> policy_name(Bandit(0.3))
    'Bandit 0.3'
    """
    if isinstance(policy, Bandit):
        return f"Bandit {policy.alpha:g}"
    return "Certified" if isinstance(policy, Certified) else "Exhaustive"

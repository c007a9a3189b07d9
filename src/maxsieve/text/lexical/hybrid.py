"""Hybrid search: fuses late interaction and BM25 over the same state of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.candidates import Candidates
from maxsieve.common.checks import as_count
from maxsieve.errors import MaxsieveError
from maxsieve.hits import Report
from maxsieve.ids import Id
from maxsieve.policies import Exhaustive, Policy
from maxsieve.text.collection.hits import HybridScores, IndexHits
from maxsieve.text.lexical.bm25 import BM25
from maxsieve.text.lexical.fusion import Fused, Hybrid, fuse, to_fusion
from maxsieve.text.passages import Keys

if TYPE_CHECKING:
    from maxsieve.text.collection.search import Queries, Searchable

ATTEMPTS = 10
"""How often a search is repeated when another thread changes the collection meanwhile."""

T = TypeVar("T")
Find = Callable[[Sequence[Candidates], int, Policy | None], Sequence[IndexHits]]
"""Late interaction: candidates for each query, how many hits, and by which policy."""


class HybridHits(NamedTuple):
    """What a hybrid search found for a query."""

    hits: IndexHits
    scores: HybridScores
    report: Report


def search_hybrid(
    collection: Searchable, queries: Queries, hybrid: Hybrid, k: int, depth: int, policy: Policy | None, find: Find
) -> list[HybridHits]:
    """The k best documents for each query by the fused scores."""
    fusion, k = to_fusion(hybrid), as_count(k, "k", at_least=1)
    depth = max(as_count(depth, "depth", at_least=1), k, fusion.least)

    def search() -> list[HybridHits]:
        return _search(BM25.of(collection), queries, hybrid, k, depth, policy, find, collection.keys)

    return in_one_state(collection, search)


def in_one_state(collection: Searchable, search: Callable[[], T]) -> T:
    """What a search of several steps finds if nothing changes between them; otherwise it begins again."""
    for _ in range(ATTEMPTS):
        state = collection.state
        try:
            found = search()
        except KeyError:  # an id that is unknown, or that was known a moment ago
            if collection.state is state:
                raise
        else:
            if collection.state is state:
                return found
    raise MaxsieveError(f"{collection.path} was changed during each of {ATTEMPTS} attempts to search it")


class _Documents(NamedTuple):
    """The hits of late interaction by the ids of their documents."""

    ids: list[Id]
    scores: NDArray[np.float32]

    @classmethod
    def of(cls, hits: IndexHits, keys: Keys) -> _Documents:
        return cls(list(map(keys.document, hits.ids)), hits.scores)


def _search(
    bm25: BM25, queries: Queries, hybrid: Hybrid, k: int, depth: int, policy: Policy | None, find: Find, keys: Keys
) -> list[HybridHits]:
    first, more = find(queries.candidates, depth, policy), list[IndexHits]()
    allowed = zip(bm25.scores(queries.texts, queries.where), queries.candidates, queries.exclude, strict=True)
    lexical = (scores.among(candidates, exclude) for scores, candidates, exclude in allowed)

    def score(ids: list[list[Id]]) -> list[_Documents]:
        more.extend(find(ids, max(1, *map(len, ids), 1), Exhaustive()))
        return [_Documents.of(hits, keys) for hits in more]

    fused = fuse(to_fusion(hybrid), [_Documents.of(hits, keys) for hits in first], lexical, score, k, depth)
    last = find([one.ids for one in fused], k, Exhaustive())
    return [
        HybridHits(
            _in_order(hits, best, keys),
            HybridScores(hybrid, depth, best.late, best.bm25),
            _report(own.report, others.report),
        )
        for own, others, hits, best in zip(first, more, last, fused, strict=True)
    ]


def _in_order(hits: IndexHits, fused: Fused, keys: Keys) -> IndexHits:
    ranks = {keys.document(key): rank for rank, key in enumerate(hits.ids)}
    return hits.reordered([ranks[one] for one in fused.ids], fused.scores.astype(np.float32))


def _report(first: Report, more: Report) -> Report:
    """The report on both searches. The second scores all its documents, so the guarantee of the first holds for both.

    But a guaranteed overlap of one list guarantees nothing for the fused list.
    """
    return replace(
        first,
        guarantee=first.guarantee if first.guarantee in ("exact", "pac") else "none",
        rescored=first.rescored + more.rescored,
        seconds=first.seconds + more.seconds,
        stages={name: seconds + more.stages.get(name, 0.0) for name, seconds in first.stages.items()},
    )

"""Hybrid search: fuses late interaction and BM25 over the same version of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.hits import Hits, Report
from maxsieve.ids import Id
from maxsieve.options import Hybrid, PerQuery, SearchOptions
from maxsieve.policies import Exhaustive
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.lexical.bm25 import BM25
from maxsieve.text.lexical.fusion import Fused, fuse, to_fusion
from maxsieve.text.lexical.scores import Answer
from maxsieve.text.passages import Keys

Find = Callable[[SearchOptions], Sequence[Hits]]
"""Late interaction: the best passages for each query. The options name documents."""


class HybridScores(NamedTuple):
    """How BM25 and late interaction were fused, and the scores of the hits by each.

    fusion
        ``"rrf"``, or the weight of BM25 (`maxsieve.text.lexical.fusion` has the formulas).
    depth
        how many best documents of each were used.
    late, bm25
        the hits' scores by late interaction and by BM25, in the order of the hits.
    """

    fusion: Hybrid
    depth: int
    late: NDArray[np.float32]
    bm25: NDArray[np.float32]

    def at(self, ranks: Sequence[int]) -> HybridScores:
        """The scores of the hits at some ranks."""
        chosen = list(ranks)
        return self._replace(late=self.late[chosen], bm25=self.bm25[chosen])


class HybridHits(NamedTuple):
    """What a hybrid search found for a query."""

    hits: Hits
    scores: HybridScores
    report: Report


def search_hybrid(
    bm25: BM25, snapshot: AnySnapshot, texts: Sequence[str], options: SearchOptions, find: Find, keys: Keys
) -> list[HybridHits]:
    """The k best documents for each query by the fused scores. With flat keys, each passage is a document."""
    assert options.hybrid is not None
    fusion, k = to_fusion(options.hybrid), options.k
    depth = max(options.depth, k, fusion.least)
    late = replace(options, hybrid=None, k=depth)
    first, more = find(late), list[Hits]()
    lexical = (
        scores.among(options.candidates.of(query), options.exclude.of(query))
        for query, scores in enumerate(bm25.scores(texts, options.where, snapshot, keys))
    )

    def score(ids: list[list[Id]]) -> list[Answer]:
        more.extend(find(_among(late, ids, max(1, *map(len, ids), 1))))
        return [Answer.of(hits, keys) for hits in more]

    fused = fuse(fusion, [Answer.of(hits, keys) for hits in first], lexical, score, k, depth)
    last = find(_among(late, [best.ids for best in fused], k))
    return [
        HybridHits(
            _in_order(hits, best, keys),
            HybridScores(options.hybrid, depth, best.late, best.bm25),
            _report(own.report, others.report),
        )
        for own, others, hits, best in zip(first, more, last, fused, strict=True)
    ]


def _among(options: SearchOptions, ids: list[list[Id]], k: int) -> SearchOptions:
    """Options that score these documents, some for each query."""
    return replace(options, candidates=PerQuery(list(ids)), k=k, policy=Exhaustive())


def _in_order(hits: Hits, fused: Fused, keys: Keys) -> Hits:
    ranks = {keys.document(key): rank for rank, key in enumerate(hits.ids)}
    return hits.reordered([ranks[id] for id in fused.ids], fused.scores.astype(np.float32))


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

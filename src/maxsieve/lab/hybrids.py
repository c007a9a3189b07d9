"""Hybrid searches for experiments: many fusions of the same scores, and a cross-fitted weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from maxsieve import Certified, Exhaustive
from maxsieve.ids import Id
from maxsieve.lab.embedded import Embedded
from maxsieve.options import Hybrid
from maxsieve.text.lexical.fusion import fuse, to_fusion
from maxsieve.text.lexical.scores import Answer, Lexical, best_of

Rankings = list[list[str]]
"""Ids of each query's hits, best first."""


class Hybrids:
    """Both scores of a corpus's documents. Late interaction scores each document once, for all fusions."""

    def __init__(self, data: Embedded, lexical: Sequence[Lexical], depth: int, threads: int) -> None:
        self._data, self._lexical, self._depth, self._threads = data, lexical, depth, threads
        self._first = [
            Answer.of(found, data.keys) for found in data.search(depth, Certified(), threads=threads).values()
        ]
        self._known = [dict(zip(found.ids, found.scores.tolist(), strict=True)) for found in self._first]

    def late(self, k: int) -> Rankings:
        """The k best by late interaction."""
        return [[str(doc_id) for doc_id in found.ids[:k]] for found in self._first]

    def lexical(self, k: int) -> Rankings:
        """The k best by BM25."""
        return [[str(own.ids[place]) for place in best_of(own.scores, k).tolist()] for own in self._lexical]

    def fused(self, hybrid: Hybrid, k: int) -> Rankings:
        """The k best by the fused scores, as in `Collection.search`."""
        found = fuse(to_fusion(hybrid), self._first, self._lexical, self._score, k, self._depth)
        return [[str(doc_id) for doc_id in best.ids] for best in found]

    def staged(self, k: int) -> Rankings:
        """The k best by late interaction among the candidates of BM25."""
        places = [
            np.sort(best_of(own.scores, self._depth)).tolist() for own in self._lexical
        ]  # ties are broken by insertion order
        named = self._score([[own.ids[i] for i in some] for own, some in zip(self._lexical, places, strict=True)])
        return [[str(found.ids[rank]) for rank in np.argsort(-found.scores, kind="stable")[:k]] for found in named]

    def _score(self, ids: list[list[Id]]) -> list[Answer]:
        missing = [
            [doc_id for doc_id in own if doc_id not in known] for own, known in zip(ids, self._known, strict=True)
        ]
        queries, most = list(self._data.queries.values()), max(map(len, missing), default=0)
        if most:
            keys, index = self._data.keys, self._data.index
            snapshot = index.storage.snapshot
            candidates = [[key for id in own for key in keys.of(id, snapshot)] for own in missing]
            hits = index.search_many(queries, most, candidates=candidates, policy=Exhaustive(), threads=self._threads)
            for known, found in zip(self._known, (Answer.of(own, keys) for own in hits), strict=True):
                known.update(zip(found.ids, found.scores.tolist(), strict=True))
        return [
            Answer(own, np.array([known[doc_id] for doc_id in own], np.float32))
            for own, known in zip(ids, self._known, strict=True)
        ]


def cross_fitted(values: Mapping[float, Sequence[float]]) -> tuple[list[float], tuple[float, float]]:
    """The value of each query with the weight that is best for the other half of the queries; and both weights.

    ``values`` are by weight, then by query; queries alternate between the halves. No query influences its own weight.

    >>> cross_fitted({0.25: [1.0, 0.0, 1.0, 0.0], 0.5: [0.5, 0.5, 0.5, 0.75]})
    ([0.5, 0.0, 0.5, 0.0], (0.25, 0.5))
    """
    weights, matrix = list(values), np.array(list(values.values()))
    first, second = (int(matrix[:, half::2].mean(axis=1).argmax()) for half in (0, 1))
    fitted = np.where(np.arange(matrix.shape[1]) % 2 == 0, matrix[second], matrix[first])
    return fitted.tolist(), (weights[first], weights[second])

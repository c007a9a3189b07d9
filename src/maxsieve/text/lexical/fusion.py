"""Fusion of BM25 and late interaction: one score from two.

``s_i`` is the score of document ``i`` by late interaction, ``t_i >= 0`` its score by BM25, 0 if it shares no word with
the query. All of this is about the documents that may be hits. Ties are broken by insertion order.

**Convex combination** with the weight ``w`` of BM25, ``0 < w < 1``:

    f_i = (1 - w) (s_i - s_(100)) / (s_(1) - s_(100))  +  w t_i / t_(1)

where ``s_(r)`` is the score at rank ``r``, or the last score if there are fewer. BM25 is measured from 0, the score of
a document that shares no word. Late interaction has no such zero point: any text gets most of the best score. So it is
measured from the hundredth score of the query. On judged queries this was better than measuring from 0: there BM25 did
more harm where it is weak, for the same gain where it is strong. (If no document shares a word, BM25 adds nothing. If
``s_(1) = s_(100)``, ``s_i - s_(1)`` replaces the quotient.)

The k best by ``f`` are found exactly (Fagin's threshold algorithm): all ``t_i`` are cheap, and the ``depth >= 100``
best by late interaction are known, so that any other document has ``s_i <= s_(depth)``. With ``theta`` the k-th best
``f`` among them, no other document can be a hit unless

    (1 - w) (s_(depth) - s_(100)) / (s_(1) - s_(100))  +  w t_i / t_(1)  >=  theta.

Such documents are scored as well. No more are needed, because ``theta`` can only rise. A document with ``t_i = 0`` is
never needed: at best it ties with the last of the list, which was added before it. The bound is computed by the same
operations as ``f``, each of which is monotone when rounded, so it holds to the last bit. The depth changes the time,
not the answer.

**Reciprocal rank fusion** (Cormack, Clarke and Buettcher, 2009), which uses only ranks:

    f_i = 1 / (60 + rank of s_i)  +  1 / (60 + rank of t_i)

over the union of the ``depth`` best by late interaction and the ``depth`` best by BM25, both scored by both. Ranks
count from 1 within that union; up to the depth they are the ranks among all documents. A document that shares no word
has no rank by BM25, and that term is 0. Here the depth is part of the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.ids import Id
from maxsieve.options import Hybrid
from maxsieve.text.lexical.scores import F32, I64, Answer, Lexical, Scored, best_of

RANK_OFFSET = 60
FAR = 100
"""The rank whose score is the zero point of late interaction."""

F64 = NDArray[np.float64]


class Fused(NamedTuple):
    """Documents, best first, with their fused scores and their scores by late interaction and BM25."""

    ids: list[Id]
    scores: F64
    late: F32
    bm25: F32


class Ends(NamedTuple):
    """The scores that normalise others: the first and the hundredth by late interaction, the first by BM25."""

    first: float
    far: float
    words: float

    @classmethod
    def of(cls, best: Scored, lexical: F32) -> Ends:
        """From the best scores by late interaction, best first, and all scores by BM25."""
        late, words = best.scores, float(lexical.max(initial=0))
        return cls(float(late[0]), float(late[:FAR][-1]), words) if len(late) else cls(0.0, 0.0, words)


class Fusion(Protocol):
    """A method of fusion."""

    least: ClassVar[int]
    """The least number of best documents by late interaction that it needs."""

    def unseen(self, best: Scored, lexical: F32, k: int, depth: int) -> I64:
        """The positions of documents that late interaction must score besides its own ``depth`` best."""

    def scores(self, late: F32, lexical: F32, ends: Ends) -> F64:
        """The fused scores of these documents, in insertion order."""


@dataclass(frozen=True)
class Weighted:
    """A convex combination; the weight is BM25's.

    >>> Weighted(0.25).scores(np.float32([8, 6]), np.float32([0, 3]), Ends(8.0, 4.0, 3.0)).tolist()
    [0.75, 0.625]
    """

    weight: float
    least: ClassVar[int] = FAR

    def unseen(self, best: Scored, lexical: F32, k: int, depth: int) -> I64:
        """The documents whose upper bound reaches the k-th best known score."""
        if len(best.places) < depth:
            return np.zeros(0, np.int64)  # late interaction has scored all documents
        ends = Ends.of(best, lexical)
        threshold = np.partition(self.scores(best.scores, lexical[best.places], ends), -k)[-k]
        others = np.setdiff1d(np.flatnonzero(lexical > 0), best.places)
        bounds = self.scores(np.full(len(others), best.scores[-1], np.float32), lexical[others], ends)
        needed: I64 = others[bounds >= threshold]
        return needed

    def scores(self, late: F32, lexical: F32, ends: Ends) -> F64:
        """The weighted sum of both normalised scores."""
        late, lexical = late.astype(np.float64), lexical.astype(np.float64)
        differ = ends.first > ends.far
        shares = (late - ends.far) / (ends.first - ends.far) if differ else late - ends.first
        words = lexical / ends.words if ends.words else lexical
        return (1 - self.weight) * shares + self.weight * words


@dataclass(frozen=True)
class ReciprocalRank:
    """The sum of reciprocal ranks.

    >>> 61 * ReciprocalRank().scores(np.float32([9, 8]), np.float32([0, 3]), Ends(9.0, 8.0, 3.0))
    array([1.        , 1.98387097])
    """

    least: ClassVar[int] = 1

    def unseen(self, best: Scored, lexical: F32, k: int, depth: int) -> I64:
        """BM25's own ``depth`` best."""
        return np.setdiff1d(best_of(lexical, depth), best.places)

    def scores(self, late: F32, lexical: F32, ends: Ends) -> F64:
        """The sum of both reciprocal ranks."""
        return _reciprocal(late) + np.where(lexical > 0, _reciprocal(lexical), 0.0)


def _reciprocal(scores: F32) -> F64:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return 1 / (RANK_OFFSET + ranks)


def to_fusion(hybrid: Hybrid) -> Fusion:
    """The fusion that an option describes.

    >>> to_fusion("rrf"), to_fusion(0.25)
    (ReciprocalRank(), Weighted(weight=0.25))
    """
    return ReciprocalRank() if hybrid == "rrf" else Weighted(float(hybrid))


def fuse(
    fusion: Fusion,
    first: Sequence[Answer],
    lexical: Iterable[Lexical],
    find: Callable[[list[list[Id]]], Sequence[Answer]],
    k: int,
    depth: int,
) -> list[Fused]:
    """The k best documents of each query.

    first
        the ``depth`` best by late interaction, best first; fewer only if there are no more. The depth is at least k
        and at least ``fusion.least``.
    lexical
        the scores by BM25, read once, query by query.
    find
        scores further documents by late interaction; called once, with a list of ids for each query.
    """
    begun = [_begin(fusion, own, words, k, depth) for own, words in zip(first, lexical, strict=True)]
    more = find([state.unseen for state in begun])
    return [_finish(fusion, state, own, others, k) for state, own, others in zip(begun, first, more, strict=True)]


class _Begun(NamedTuple):
    """The state of a query between both passes. It omits most of BM25's scores, because there may be many queries."""

    unseen: list[Id]
    ends: Ends
    lexical: Lexical


def _begin(fusion: Fusion, first: Answer, lexical: Lexical, k: int, depth: int) -> _Begun:
    seen = lexical.scored(first)
    unseen = fusion.unseen(seen, lexical.scores, k, depth)
    ids = [lexical.ids[place] for place in unseen.tolist()]
    return _Begun(ids, Ends.of(seen, lexical.scores), lexical.only(np.union1d(seen.places, unseen)))


def _finish(fusion: Fusion, begun: _Begun, first: Answer, more: Answer, k: int) -> Fused:
    parts = [begun.lexical.scored(answer) for answer in (first, more)]
    places, late = (np.concatenate(column) for column in zip(*parts, strict=True))
    added = np.argsort(places)
    places, late = places[added], late[added]
    words = begun.lexical.scores[places]
    scores = fusion.scores(late, words, begun.ends)
    best = np.argsort(-scores, kind="stable")[:k]
    return Fused([begun.lexical.ids[place] for place in places[best].tolist()], scores[best], late[best], words[best])

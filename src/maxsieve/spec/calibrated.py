"""The calibrated policy: the first n documents by tier 0, and the certified top K of those.

How large n must be is calibrated on queries by conformal risk control (docs/theory.md has the theorem and its proof).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32
from maxsieve.spec.certified import certified
from maxsieve.spec.codebook import Codebook, assign, by_proxy, lookup_proxies, similarity_table, survivors
from maxsieve.spec.quantiser import quantise_document, quantise_query


class CalibratedAnswer(NamedTuple):
    """Positions and canonical scores, best first; how many documents passed tier 0, and were rescored."""

    positions: list[int]
    scores: F32
    survivors: int
    rescored: int


def tier0_proxies(Q: F32, documents: Sequence[F32], book: Codebook) -> NDArray[np.int64]:
    """Every document's proxy in tier 0; -1 for an empty document."""
    table = similarity_table(book, quantise_query(Q))
    return lookup_proxies(table, [assign(book, quantise_document(E).codes) for E in documents])


def first_by_proxy(Q: F32, documents: Sequence[F32], book: Codebook, K: int, n: int) -> CalibratedAnswer:
    """The exhaustive top K of the first n documents by tier 0."""
    chosen = survivors(tier0_proxies(Q, documents, book), n)
    answer = certified(Q, [documents[i] for i in chosen], K)
    return CalibratedAnswer([int(chosen[i]) for i in answer.positions], answer.scores, len(chosen), answer.rescored)


def ranks_by_proxy(proxies: NDArray[np.int64], wanted: Sequence[int]) -> NDArray[np.int64]:
    """The rank, from 1, of each wanted document in the list by proxy.

    >>> ranks_by_proxy(np.array([3, 5, -1, 5]), [0, 3]).tolist()
    [3, 2]
    """
    place = {int(position): rank for rank, position in enumerate(by_proxy(proxies), 1)}
    return np.array([place[position] for position in wanted], np.int64)


def queries_needed(overlap: Fraction) -> int:
    """The fewest calibration queries with which an expected overlap can be guaranteed.

    With m queries the bound below is at least ``1/(m + 1)``, whatever their ranks are.

    >>> queries_needed(Fraction("0.99")), queries_needed(Fraction("0.9"))
    (99, 9)
    """
    return ceil(1 / (1 - overlap)) - 1


def depth(ranks: NDArray[np.int64], K: int, overlap: Fraction) -> int:
    """The smallest n that conformal risk control allows for a top K, from ``ranks`` [m, k] of calibration queries.

    Row i has the ranks by proxy of query i's true best k documents, best first. The loss of query i at n is the share
    of its first K documents that are not among the first n; it never increases with n. n is the smallest with ``m/(m+1)
    * mean loss(n) + 1/(m+1) <= 1 - overlap``. Of all m K ranks, this means that at least ``K (m + 1) overlap`` are at
    most n: n is an order statistic. Everything is computed in integers and fractions.

    >>> ranks = np.arange(1, 10).reshape(9, 1)
    >>> depth(ranks, 1, Fraction("0.9")), depth(ranks, 1, Fraction("0.5"))
    (9, 5)
    """
    m = len(ranks)
    if m < queries_needed(overlap):
        raise ValueError(f"an overlap of {float(overlap)} needs {queries_needed(overlap)} queries; there are {m}")
    places = np.sort(ranks[:, :K], axis=None)
    # m/(m+1) (1 - count/(m K)) + 1/(m+1) <= 1 - overlap   <=>   count >= K (m + 1) overlap
    count = ceil(K * (m + 1) * overlap)
    return int(places[count - 1]) if count else 0

"""The calibrated policy: the first n documents by a cheap proxy, and the certified top K of those.

The proxy is that of tier 0, or that of lists. How large n must be is calibrated on queries by conformal risk control
(docs/theory.md has the theorem and its proof).
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
from maxsieve.spec.lists import Walk, walked_proxies
from maxsieve.spec.quantiser import quantise_document, quantise_query

INFINITE = 2**63 - 1
"""The rank of a document that no list which was read holds. A depth of so many means: `certified` on all documents."""


class CalibratedAnswer(NamedTuple):
    """Positions and canonical scores, best first; which documents were followed up, and how many rescored."""

    positions: list[int]
    scores: F32
    followed: list[int]
    rescored: int

    @property
    def survivors(self) -> int:
        """How many documents were followed up."""
        return len(self.followed)


def tier0_proxies(Q: F32, documents: Sequence[F32], book: Codebook) -> NDArray[np.int64]:
    """Every document's proxy in tier 0; -1 for an empty document."""
    table = similarity_table(book, quantise_query(Q))
    return lookup_proxies(table, [assign(book, quantise_document(E).codes) for E in documents])


def first_by_proxy(Q: F32, documents: Sequence[F32], book: Codebook, K: int, n: int) -> CalibratedAnswer:
    """The exhaustive top K of the first n documents by tier 0."""
    chosen = survivors(tier0_proxies(Q, documents, book), n)
    answer = certified(Q, [documents[i] for i in chosen], K)
    return CalibratedAnswer([int(chosen[i]) for i in answer.positions], answer.scores, chosen.tolist(), answer.rescored)


def followed(proxies: NDArray[np.int64], n: int, since: int, K: int) -> NDArray[np.int64]:
    """Positions of the documents to follow up, ascending: the first n by proxy before ``since``, and all from there on.

    Documents from ``since`` on were added after the calibration. If fewer than K would be followed up, all are.

    >>> followed(np.array([3, 5, -1, 5, 4]), 1, 3, 2).tolist()
    [1, 3, 4]
    """
    chosen = np.concatenate([survivors(proxies[:since], n), np.arange(min(since, len(proxies)), len(proxies))])
    return chosen if len(chosen) >= min(K, len(proxies)) else np.arange(len(proxies))


def first_by_lists(
    Q: F32, documents: Sequence[F32], book: Codebook, K: int, n: int, walk: Walk, since: int | None = None
) -> CalibratedAnswer:
    """The exhaustive top K of the first n documents by lists, and of all documents from the position ``since`` on.

    No document may be empty.
    """
    chosen = followed(walked_proxies(Q, documents, book, walk), n, len(documents) if since is None else since, K)
    answer = certified(Q, [documents[i] for i in chosen], K)
    return CalibratedAnswer([int(chosen[i]) for i in answer.positions], answer.scores, chosen.tolist(), answer.rescored)


def ranks_by_proxy(proxies: NDArray[np.int64], wanted: Sequence[int]) -> NDArray[np.int64]:
    """The rank, from 1, of each wanted document in the list by proxy; `INFINITE` for one that has no place there.

    >>> ranks_by_proxy(np.array([3, 5, -1, 5]), [0, 3]).tolist()
    [3, 2]
    """
    place = {int(position): rank for rank, position in enumerate(by_proxy(proxies), 1)}
    return np.array([place.get(position, INFINITE) for position in wanted], np.int64)


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
    most n: n is an order statistic. It may be `INFINITE`. Everything is computed in integers and fractions.

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


def tail_depth(ranks: NDArray[np.int64], K: int, overlap: Fraction, share: Fraction) -> int:
    """The smallest n with which a share of the queries finds at least ``overlap`` of its top K.

    ``ranks`` are as for `depth`. The loss of a query at n is 1 if fewer than ``K * overlap`` of its first K documents
    are among the first n, else 0; it never increases with n. It becomes 0 at the ``ceil(K * overlap)``-th smallest of
    the K ranks, and n is an order statistic of these.

    >>> ranks = np.array([[1, 7], [2, 3], [9, 4]])
    >>> tail_depth(ranks, 2, Fraction(1, 2), Fraction(1, 2)), tail_depth(ranks, 2, Fraction(1), Fraction(3, 4))
    (2, 9)
    """
    enough = np.sort(ranks[:, :K], axis=1)[:, ceil(K * overlap) - 1]
    return depth(enough[:, None], 1, share)


def grown_ranks(ranks: NDArray[np.int64], proxies: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ranks of some hits after documents were added: so many more as new documents stand before each.

    ``proxies`` are those of the hits, ``new`` those of the new documents, which stand behind equals.

    >>> grown_ranks(np.array([1, 3]), np.array([9, 5]), np.array([7, 5, -1])).tolist()
    [1, 4]
    """
    before = (new[None, :] > proxies[:, None]).sum(axis=1)
    return np.where(ranks == INFINITE, INFINITE, ranks + before)


def struck_ranks(hits: Sequence[int], ranks: Sequence[int], deleted: set[int], K: int) -> list[int] | None:
    """The ranks of the first K of a query's best documents that were not deleted; None if fewer are known.

    They are upper bounds: documents that stood before a hit may be among the deleted.

    >>> struck_ranks([7, 2, 9], [1, 5, 3], {2}, 2), struck_ranks([7, 2, 9], [1, 5, 3], {2, 7}, 2)
    ([1, 3], None)
    """
    left = [rank for hit, rank in zip(hits, ranks, strict=True) if hit not in deleted]
    return left[:K] if len(left) >= K else None

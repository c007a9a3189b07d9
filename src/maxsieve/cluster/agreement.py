"""How the members of a search exchange numbers about all documents: each makes offers, and all get the same reply."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import MaxsieveError

Kind: TypeAlias = Literal["kth", "sum", "max"]
Offer: TypeAlias = tuple[Kind, int, NDArray[np.float64], NDArray[np.float64] | None]
"""Four fields: what the reply is to be (the sum, the largest or the k-th largest of the numbers of all members); k; the
numbers of this member (the k largest are enough); and tie-breakers for these numbers (lower ones first), or None."""
Offers: TypeAlias = list[Offer]
Reply: TypeAlias = tuple[float, ...]
Replies: TypeAlias = tuple[Reply, ...]
"""One reply for each exchange so far."""


class UnknownSessionError(MaxsieveError):
    """A member was asked to continue a search that it does not know any more. The search must be started again."""


def merge(offers: Sequence[Offers]) -> Reply:
    """The reply to the offers of all members. All members make the same kinds of offers in the same order.

    The reply has one number for each offer. An offer with tie-breakers gets a second number: the tie-breaker of the
    k-th largest. If there are fewer than k numbers in all, the k-th is -infinity and its tie-breaker is infinity.

    >>> one = [("sum", 0, np.array([2.0]), None), ("kth", 2, np.array([5.0, 3.0]), None)]
    >>> two = [("sum", 0, np.array([7.0]), None), ("kth", 2, np.array([4.0]), None)]
    >>> merge([one, two])
    (9.0, 4.0)
    """
    first, *others = offers
    if any([offer[:2] for offer in other] != [offer[:2] for offer in first] for other in others):
        raise ValueError("the members of a search asked for different numbers: they run different versions of maxsieve")
    reply: list[float] = []
    for same in zip(*offers, strict=True):
        kind, k, _, _ = same[0]
        values = np.concatenate([offer[2] for offer in same])
        if kind == "sum":
            reply.append(float(values.sum()))
        elif kind == "max":
            reply.append(float(values.max()))
        elif tied := [offer[3] for offer in same if offer[3] is not None]:
            reply += _kth_pair(values, np.concatenate(tied), k)
        else:
            reply.append(_kth_largest(values, k))
    return tuple(reply)


def _kth_largest(values: NDArray[np.float64], k: int) -> float:
    return -inf if len(values) < k else float(np.partition(values, len(values) - k)[len(values) - k])


def _kth_pair(values: NDArray[np.float64], orders: NDArray[np.float64], k: int) -> list[float]:
    if len(values) < k:
        return [-inf, inf]
    place = np.lexsort((orders, -values))[k - 1]
    return [float(values[place]), float(orders[place])]

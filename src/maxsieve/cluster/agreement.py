"""How the members of a search agree on numbers about all documents: each makes offers, and all get the same reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import MaxsieveError

Kind: TypeAlias = Literal["kth", "sum", "max"]


class Offer(NamedTuple):
    """What a member says about its documents: the reply is made of the offers of all members.

    kind, k
        what the reply is to be: the sum, the largest or the k-th largest of the numbers of all members.
    values
        the numbers of this member; the k largest are enough.
    ties
        tie-breakers for these numbers (lower ones first), or None.
    """

    kind: Kind
    k: int
    values: NDArray[np.float64]
    ties: NDArray[np.float64] | None = None


class Offers(NamedTuple):
    """All offers of a member at one step of a search."""

    items: list[Offer]

    @classmethod
    def of(cls, tuples: Iterable[Any]) -> Offers:
        """From the tuples of the engine."""
        return cls([Offer(*item) for item in tuples])


NO_OFFERS = Offers([])

Reply: TypeAlias = tuple[float, ...]
Replies: TypeAlias = tuple[Reply, ...]
"""One reply for each agreement so far."""


class UnknownSessionError(MaxsieveError):
    """A member was asked to continue a search that it does not know any more. The search must be started again."""


def merge(offers: Sequence[Offers]) -> Reply:
    """The reply to the offers of all members. All members make the same kinds of offers in the same order.

    The reply has one number for each offer. An offer with tie-breakers gets a second number: the tie-breaker of the
    k-th largest. If there are fewer than k numbers in all, the k-th is -infinity and its tie-breaker is infinity.

    >>> first = Offers.of([("sum", 0, np.array([2.0])), ("kth", 2, np.array([5.0, 3.0]))])
    >>> second = Offers.of([("sum", 0, np.array([7.0])), ("kth", 2, np.array([4.0]))])
    >>> merge([first, second])
    (9.0, 4.0)
    """
    first, *others = (offer.items for offer in offers)
    if any([item[:2] for item in other] != [item[:2] for item in first] for other in others):
        raise ValueError("the members of a search asked for different numbers: they run different versions of maxsieve")
    reply: list[float] = []
    for same in zip(first, *others, strict=True):
        kind, k = same[0].kind, same[0].k
        values = np.concatenate([offer.values for offer in same])
        if kind == "sum":
            reply.append(float(values.sum()))
        elif kind == "max":
            reply.append(float(values.max()))
        elif tied := [offer.ties for offer in same if offer.ties is not None]:
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

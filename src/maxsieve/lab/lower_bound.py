"""A lower confidence bound on a mean that holds for every distribution and every number of samples.

The bootstrap is of no use where most values are 1: after a hundred answers without a mistake it is sure that there are
none. So the bound is won by betting (Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting).
Somebody claims that the mean of X >= 0 is at most m. Start with 1 and, sample by sample, stake the share c of what you
have at the fair odds X/m:

    W(m) = prod_i (1 - c + c x_i / m)

If the claim is true, E[W] <= 1, so that W reaches 1/(1 - confidence) with a probability of at most 1 - confidence
(Markov). W falls as m grows; the bound is the m at which it is just that large. With c = 1 it is the geometric mean of
the samples times (1 - confidence)^(1/n). The share c must be chosen without looking at the samples: see `best_share`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""To choose from. Staking all of it would make one sample of 0 the end."""
HALVINGS = 50


def lower_bound(samples: Sequence[float], confidence: float, share: float) -> float:
    """What the mean reaches, with this confidence; samples lie in [0, 1].

    >>> round(lower_bound([1.0] * 300, 0.95, 1.0), 4), round(0.05 ** (1 / 300), 4)
    (0.9901, 0.9901)
    >>> lower_bound([1.0] * 10, 0.95, 0.95) < 0.75
    True
    """
    wanted = -math.log1p(-confidence)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(samples, middle, share) >= wanted else (low, middle)
    return low


def log_wealth(samples: Sequence[float], claimed: float, share: float) -> float:
    """The logarithm of what betting against the claim has made of 1.

    >>> round(log_wealth([1.0], 0.5, 0.5), 6) == round(math.log(1.5), 6)
    True
    """
    with np.errstate(divide="ignore"):
        return float(np.log(1 - share + share * np.asarray(samples) / claimed).sum())


def best_share(samples: Sequence[float], claimed: float) -> float:
    """The share that would have won most on samples other than those it is used for."""
    return max(SHARES, key=lambda share: log_wealth(samples, claimed, share))


def samples_needed(target: float, confidence: float) -> float:
    """How many samples show a mean of ``target`` if all of them are 1: fewer can't.

    >>> samples_needed(0.99, 0.95), samples_needed(1, 0.95)
    (314, inf)
    """
    gain = math.log(1 - SHARES[-1] + SHARES[-1] / target)
    return math.ceil(-math.log1p(-confidence) / gain) if gain > 0 else math.inf

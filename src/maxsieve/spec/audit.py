"""The live audit: an interval for the mean overlap that holds at all times at once, however often it is looked at.

It is the hedged betting of Waudby-Smith and Ramdas (2024), each side by itself; docs/theory.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p, sqrt

STEPS = 1000
"""Means are tested in steps of 1/1000."""

LARGEST_BET = 0.5
"""The share of the capital that one observation can lose."""


def bets(values: Sequence[float], alpha: float) -> list[float]:
    """The bet on each value in [0, 1], chosen from the values before it: larger ones if those varied little."""
    total, squares, found = 0.5, 0.25, []
    for t, value in enumerate(values, 1):
        found.append(sqrt(2 * log(2 / alpha) / (squares * log(1 + t))))
        total += value
        squares += (value - total / (t + 1)) ** 2
    return found


def log_capitals(values: Sequence[float], mean: float, alpha: float) -> tuple[list[float], list[float]]:
    """The logarithms of what two gamblers have after each value, if both begin with 1.

    One bets that the mean is larger than ``mean``, the other that it is smaller. If it is ``mean``, both games are
    fair. A gambler never loses more than the share `LARGEST_BET` at once.
    """
    larger, smaller = [0.0], [0.0]
    for value, bet in zip(values, bets(values, alpha), strict=True):
        up = bet if mean == 0 else min(bet, LARGEST_BET / mean)
        down = bet if mean == 1 else min(bet, LARGEST_BET / (1 - mean))
        larger.append(larger[-1] + log1p(up * (value - mean)))
        smaller.append(smaller[-1] + log1p(-down * (value - mean)))
    return larger, smaller


def mean_interval(values: Sequence[float], alpha: float = 0.01) -> tuple[float, float]:
    """Limits for the mean of values in [0, 1]. Of all intervals while values arrive, none misses it, with 1 - alpha.

    A mean is excluded once one of its two gamblers has had ``2 / alpha``.

    >>> mean_interval([])
    (0.0, 1.0)
    >>> mean_interval([1.0] * 100)
    (0.901, 1.0)
    """
    lower, upper, enough = 0.0, 1.0, log(2 / alpha)
    for step in range(STEPS + 1):
        larger, smaller = log_capitals(values, step / STEPS, alpha)
        if max(larger) >= enough:
            lower = max(lower, step / STEPS)
        if max(smaller) >= enough:
            upper = min(upper, step / STEPS)
    return lower, upper

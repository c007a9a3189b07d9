"""Sentences about differences: "ahead", "behind" or "faster" only if the confidence interval supports it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from maxsieve.lab.metrics.confidence import Mean, mean

FEWEST = 6
"""Pairs that can tell two things apart. If there is no difference, all of n pairs fall on one side with a probability
of 2 / 2^n: for 5 that is 6 %, more than the 5 % that an interval of 95 % allows."""

Verdict = Literal["ahead", "behind", "open"]


def verdict(found: Mean) -> Verdict:
    """The sign of a difference, if its interval does not contain 0 and there are enough pairs.

    >>> verdict(Mean(0.004, -0.007, 0.015, 300)), verdict(Mean(-0.045, -0.06, -0.03, 300))
    ('open', 'behind')
    >>> verdict(Mean(0.1, 0.1, 0.1, 3))
    'open'
    """
    if found.count < FEWEST or found.low <= 0 <= found.high:
        return "open"
    return "ahead" if found.low > 0 else "behind"


def compared(first: str, second: str, found: Mean, spec: str = ".3f") -> str:
    """A sentence, without its full stop, about the difference between the first and the second.

    >>> compared("the default", "BM25", Mean(0.004, -0.007, 0.015, 300))
    "the default and BM25 can't be told apart: +0.004 (-0.007 to +0.015)"
    >>> compared("the default", "BM25", Mean(-0.045, -0.06, -0.03, 300))
    'the default is behind BM25: -0.045 (-0.060 to -0.030)'
    """
    figures = f"{found.value:+{spec}} {interval(found, '+' + spec)}"
    shown = verdict(found)
    if shown == "open":
        return f"{first} and {second} can't be told apart{_few(found)}: {figures}"
    return f"{first} is {'ahead of' if shown == 'ahead' else 'behind'} {second}: {figures}"


def speed(seconds: Sequence[float], others: Sequence[float]) -> Mean:
    """The speed ratio, query by query: the geometric mean of the ratios, with its interval.

    >>> found = speed([1.0, 2.0], [2.0, 4.0])
    >>> round(found.value, 6), found.count
    (2.0, 2)
    """
    logs = mean([math.log(other / own) for own, other in zip(seconds, others, strict=True)])
    return Mean(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high), logs.count)


def faster(first: str, second: str, found: Mean) -> str:
    """A sentence, without its full stop, about how many times as fast the first is as the second.

    >>> faster("Bandit", "Certified", Mean(2.0, 1.9, 2.1, 20))
    'Bandit is 2.0 times as fast as Certified (1.9 to 2.1)'
    >>> faster("Bandit", "Certified", Mean(0.5, 0.4, 0.8, 20))
    'Bandit takes 2.0 times as long as Certified (1.2 to 2.5)'
    >>> faster("Bandit", "Certified", Mean(1.1, 0.9, 1.3, 20))
    "which of Bandit and Certified is faster can't be told: 1.1 times as fast (0.9 to 1.3)"
    """
    logs = Mean(math.log(found.value), math.log(found.low), math.log(found.high), found.count)
    shown = verdict(logs)
    if shown == "ahead":
        return f"{first} is {found.value:.1f} times as fast as {second} {interval(found, '.1f')}"
    if shown == "behind":
        slower = Mean(1 / found.value, 1 / found.high, 1 / found.low, found.count)
        return f"{first} takes {slower.value:.1f} times as long as {second} {interval(slower, '.1f')}"
    figures = f"{found.value:.1f} times as fast {interval(found, '.1f')}"
    return f"which of {first} and {second} is faster can't be told{_few(found)}: {figures}"


def interval(found: Mean, spec: str) -> str:
    """The ends of the interval, in brackets.

    >>> interval(Mean(0.5, 0.25, 0.75, 9), ".2f")
    '(0.25 to 0.75)'
    """
    return f"({found.low:{spec}} to {found.high:{spec}})"


def _few(found: Mean) -> str:
    return "" if found.count >= FEWEST else f" by {found.count} quer{'y' if found.count == 1 else 'ies'}"

"""Confidence in a mean over queries: bootstrap intervals, a lower bound without assumptions, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maxsieve.common.optional import optional
from maxsieve.lab.results import Cell, Column, Table

Values: TypeAlias = Mapping[str, float] | Sequence[float]
"""One number per query: by its id, or in a fixed order."""

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 0
TOGETHER = 1000
"""How many resamples are in memory at a time."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Of a stake, for `lower_bound`, to choose from. Staking all of it would make one sample of 0 the end."""
HALVINGS = 50


@dataclass(frozen=True)
class Mean:
    """A mean, its 95 % confidence interval, and the number of values."""

    value: float
    low: float
    high: float
    count: int


def mean(values: Values) -> Mean:
    """The mean with its interval by the bias-corrected and accelerated bootstrap (BCa), the same on every call.

    If all values are equal, or there is only one, the interval is that value: there is nothing to estimate from.

    >>> mean([0.5, 0.5])
    Mean(value=0.5, low=0.5, high=0.5, count=2)
    >>> found = mean([0.0, 0.2, 0.3, 0.9])
    >>> 0.0 < found.low < found.value < found.high < 0.9
    True
    """
    numbers = np.array(_numbers(values), np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError("a mean needs at least one value")
    if not np.isfinite(numbers).all():
        raise ValueError(f"value {int(np.flatnonzero(~np.isfinite(numbers))[0])} is not a finite number")
    if numbers.min() == numbers.max():
        only = float(numbers[0])
        return Mean(only, only, only, len(numbers))
    value = float(numbers.mean())
    # Around 0 and of size 1, so that the third powers within can neither underflow nor cancel.
    centred = numbers - value
    scale = float(np.abs(centred).max())
    found = optional("scipy", "lab").stats.bootstrap(
        (centred / scale,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=TOGETHER,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=np.random.default_rng(SEED),
    )
    low, high = found.confidence_interval
    return Mean(value, value + scale * float(low), value + scale * float(high), len(numbers))


def difference(first: Values, second: Values) -> Mean:
    """The mean of the paired differences ``first - second``: what both have in common, such as hard queries, cancels.

    >>> difference({"a": 0.5, "b": 0.25}, {"b": 0.0, "a": 0.25})
    Mean(value=0.25, low=0.25, high=0.25, count=2)
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            missing = next(iter(first.keys() ^ second.keys()))
            raise ValueError(f"only one of both has a value for query {missing!r}")
        return mean([first[query] - second[query] for query in first])
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        raise TypeError("both must have their values by query, or both in order")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values can't be paired with {len(second)}")
    return mean([value - other for value, other in zip(first, second, strict=True)])


def lower_bound(samples: Sequence[float], confidence: float, share: float) -> float:
    """A lower confidence bound of the mean of samples in [0, 1], for any distribution and any number of samples.

    The bootstrap fails if most values are 1: after a hundred answers without a mistake, its interval is just 1. So the
    bound comes from betting (Waudby-Smith and Ramdas, Estimating means of bounded random variables by
    betting). Somebody claims that the mean of X >= 0 is at most m. Start with 1 and, sample by sample, stake the share
    c of what you have at the fair odds X/m:

        W(m) = prod_i (1 - c + c x_i / m)

    If the claim is true, E[W] <= 1, so that W reaches 1/(1 - confidence) with a probability of at most 1 - confidence
    (Markov). W falls as m grows; the bound is the m at which it is just that large. With c = 1 it is the geometric mean
    of the samples times (1 - confidence)^(1/n). The share c must be chosen without looking at the samples: see
    `best_share`.

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


def _numbers(values: Values) -> list[float]:
    return list(values.values() if isinstance(values, Mapping) else values)


def comparison_table(title: str, measure: str, values: Mapping[str, Sequence[float]], rival: str) -> Table:
    """One row per method, from ``values`` by query, with its paired difference to the rival.

    >>> table = comparison_table("Both", "nDCG@10", {"BM25": [0.5, 0.25], "ours": [0.75, 0.5]}, "BM25")
    >>> table.text_rows()[1]
    ['ours', '0.625', '0.500', '0.750', '+0.250', '+0.250', '+0.250']
    """
    rows: list[list[Cell]] = []
    for name, own in values.items():
        found, more = mean(own), difference(own, values[rival])
        rows.append([name, found.value, found.low, found.high, more.value, more.low, more.high])
    columns = [Column("search"), Column(measure, ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    columns += [Column(f"minus {rival}", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    return Table(title, columns, rows)

"""How sure a mean over queries is: bootstrap confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maxsieve.common.optional import optional

Values: TypeAlias = Mapping[str, float] | Sequence[float]
"""One number a query: by its id, or in an order that is always the same."""

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 0
TOGETHER = 1000
"""Resamples that are in memory at once."""


@dataclass(frozen=True)
class Mean:
    """A mean, the 95 % confidence interval around it, and of how many values."""

    value: float
    low: float
    high: float
    count: int


def mean(values: Values) -> Mean:
    """The mean with its interval by the bias-corrected and accelerated bootstrap (BCa), the same on every call.

    Values that are all equal, or a single one, leave nothing to estimate from: their interval is the value.

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
    """The mean of ``first - second``, query by query: what both have in common, hard and easy queries, drops out.

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
    return mean([one - other for one, other in zip(first, second, strict=True)])


def _numbers(values: Values) -> list[float]:
    return list(values.values() if isinstance(values, Mapping) else values)

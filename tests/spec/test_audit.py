"""The audit's interval: it never misses the mean, however often one looks, and it becomes narrow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve import audit
from maxsieve.spec.audit import LARGEST_BET, STEPS, bets, log_capitals, mean_interval

Draw = Callable[[np.random.Generator, int], np.ndarray]
STREAMS, LONG = 400, 400

SOURCES: dict[str, tuple[Draw, float]] = {
    "0.99 of 10 hits": (lambda rng, n: rng.binomial(10, 0.99, n) / 10, 0.99),
    "all or nothing": (lambda rng, n: rng.binomial(1, 0.95, n).astype(float), 0.95),
    "even": (lambda rng, n: rng.uniform(0, 1, n), 0.5),
    "rare and low": (lambda rng, n: np.where(rng.uniform(0, 1, n) < 0.02, 0.0, 1.0), 0.98),
}


def intervals(values: np.ndarray) -> list[tuple[float, float]]:
    """Those of the engine after each value."""
    kept = audit.MeanInterval()
    found = []
    for value in values:
        kept.add(float(value))
        found.append((kept.lower, kept.upper))
    return found


@given(st.lists(st.integers(0, 10).map(lambda tenths: tenths / 10), max_size=40))
def test_the_engine_is_the_specification(values: list[float]) -> None:
    assert (audit.STEPS, audit.LARGEST_BET) == (STEPS, LARGEST_BET)
    kept = audit.MeanInterval()
    for value in values:
        kept.add(value)
    assert (kept.lower, kept.upper) == mean_interval(values, audit.ALPHA)
    assert kept.mean == pytest.approx(np.mean(values) if values else 0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_capitals_are_monotone_in_the_mean(values: list[float], one: float, other: float) -> None:
    small, large = sorted((one, other))
    (larger_at_small, smaller_at_small), (larger_at_large, smaller_at_large) = (
        log_capitals(values, mean, 0.01) for mean in (small, large)
    )
    assert all(a >= b - 1e-9 for a, b in zip(larger_at_small, larger_at_large, strict=True))
    assert all(a <= b + 1e-9 for a, b in zip(smaller_at_small, smaller_at_large, strict=True))
    assert all(bet > 0 for bet in bets(values, 0.01))


@pytest.mark.parametrize("source", SOURCES)
def test_it_hardly_ever_misses_the_mean(source: str) -> None:
    draw, mean = SOURCES[source]
    missed = 0
    for seed in range(STREAMS):
        lower, upper = intervals(draw(np.random.default_rng(seed), LONG))[-1]  # limits only ever come nearer
        missed += not lower <= mean <= upper
    assert missed <= STREAMS * audit.ALPHA + 3 * (STREAMS * audit.ALPHA) ** 0.5


def test_an_interval_for_one_time_misses_it_often() -> None:
    """The same simulation can fail: a normal interval of 99 % that is looked at after each value."""
    draw, mean = SOURCES["even"]
    missed = 0
    for seed in range(STREAMS):
        values = draw(np.random.default_rng(seed), LONG)
        counts = np.arange(1, LONG + 1)
        means = np.cumsum(values) / counts
        missed += bool((np.abs(means - mean) > 2.576 * np.sqrt(1 / 12 / counts))[9:].any())
    assert missed > STREAMS * audit.ALPHA + 3 * (STREAMS * audit.ALPHA) ** 0.5


def test_a_broken_promise_is_found_soon() -> None:
    values = np.random.default_rng(1).binomial(10, 0.9, 400) / 10
    found = intervals(values)
    assert next(count for count, (_, upper) in enumerate(found, 1) if upper < 0.99) < 50
    lower, upper = found[-1]
    assert upper - lower < 0.05

"""Confidence intervals of means."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maxsieve.lab.metrics.confidence import Mean, difference, mean

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@settings(max_examples=25)
@given(VALUES)
@example([0.0] * 19 + [1.0])
@example([1.0, 1.0 + 2**-52])
@example([1e-200, 3e-200, 2e-200])
@example([5e-324, 0.0])
def test_an_interval_lies_around_the_mean_and_within_the_values(values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mean(values)
    slack = 1e-12 * max(map(abs, values))
    assert found.value == pytest.approx(math.fsum(values) / len(values), rel=1e-12, abs=slack)
    assert min(values) - slack <= found.low <= found.value + slack
    assert found.value - slack <= found.high <= max(values) + slack
    assert found.count == len(values)
    if len(set(values)) == 1:
        assert found == Mean(values[0], values[0], values[0], len(values))


def test_the_same_on_every_call() -> None:
    values = np.random.default_rng(3).random(50).tolist()
    assert mean(values) == mean(values) == mean({str(i): value for i, value in enumerate(values)})
    assert mean(values).low < mean(values).value < mean(values).high


def test_the_interval_is_that_of_theory_for_many_values() -> None:
    values = np.random.default_rng(4).normal(0.3, 0.2, 2000)
    found, half = mean(values.tolist()), 1.96 * values.std(ddof=1) / math.sqrt(2000)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.05 * half)


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    """Skewed values, as reciprocal ranks are; 100 samples of 40."""
    rng = np.random.default_rng(5)
    truth = 1 / 3
    found = [mean(rng.beta(0.5, 1.0, 40).tolist()) for _ in range(100)]
    assert 0.90 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99


def test_single_values_and_none() -> None:
    assert mean([0.1]) == Mean(0.1, 0.1, 0.1, 1)
    assert mean([0.1] * 3) == Mean(0.1, 0.1, 0.1, 3)
    assert mean([True, True]) == Mean(1.0, 1.0, 1.0, 2)
    with pytest.raises(ValueError, match=r"^a mean"):
        mean([])
    with pytest.raises(ValueError, match=r"^value 1\b"):
        mean([0.0, math.nan])


def test_differences_are_paired() -> None:
    """Queries differ much more than the two methods: only pairs show which is better."""
    first = {str(i): value for i, value in enumerate(np.random.default_rng(6).random(60).tolist())}
    second = {query: value - 0.01 - 0.001 * (int(query) % 3) for query, value in reversed(first.items())}
    found = difference(first, second)
    assert 0.010 < found.low < found.value < found.high < 0.012
    assert found.value == pytest.approx(mean(first).value - mean(second).value)
    ordered = difference(list(first.values()), [second[query] for query in first])
    assert ordered == found
    assert difference(first, first) == Mean(0.0, 0.0, 0.0, 60)


def test_differences_of_different_queries() -> None:
    with pytest.raises(ValueError, match="query 'b'"):
        difference({"a": 1.0}, {"a": 1.0, "b": 0.0})
    with pytest.raises(ValueError, match=r"\b1\b.*\b2\b"):
        difference([1.0], [1.0, 2.0])
    with pytest.raises(TypeError, match="in order"):
        difference([1.0], {"a": 1.0})


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"scipy.*maxsieve\[lab\]"):
        mean([0.0, 1.0])

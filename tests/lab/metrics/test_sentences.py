"""A sentence claims no more than its interval shows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.metrics.confidence import Mean
from maxsieve.lab.metrics.sentences import FEWEST, compared, faster, speed, verdict

FINITE = st.floats(-1e3, 1e3)
MEANS = st.builds(
    lambda ends, count: Mean(ends[1], ends[0], ends[2], count),
    st.tuples(FINITE, FINITE, FINITE).map(sorted),
    st.integers(1, 50),
)


@given(MEANS)
def test_ahead_only_where_the_interval_says_so(found: Mean) -> None:
    words = compared("A", "B", found)
    assert ("A is ahead of B" in words) == (found.low > 0 and found.count >= FEWEST)
    assert ("A is behind B" in words) == (found.high < 0 and found.count >= FEWEST)
    assert ("can't be told apart" in words) == (verdict(found) == "open")


def test_the_sentence_that_was_wrong() -> None:
    """+0.004 [-0.007, +0.015] was described as ahead."""
    assert "ahead" not in compared("late interaction", "BM25", Mean(0.004, -0.007, 0.015, 500))


@given(st.floats(0.01, 100), st.floats(1.001, 3), st.floats(1.001, 3))
def test_faster_only_where_the_interval_says_so(value: float, below: float, above: float) -> None:
    found = Mean(value, value / below, value * above, 30)
    words = faster("A", "B", found)
    assert ("A is" in words) == (found.low > 1)
    assert ("A takes" in words) == (found.high < 1)
    assert ("can't be told" in words) == (found.low <= 1 <= found.high)


def test_few_queries_tell_nothing() -> None:
    assert verdict(Mean(0.1, 0.1, 0.1, FEWEST - 1)) == "open"
    assert verdict(Mean(0.1, 0.1, 0.1, FEWEST)) == "ahead"
    assert "by 1 query" in compared("A", "B", Mean(0.1, 0.1, 0.1, 1))
    assert "by 2 queries" in faster("A", "B", Mean(2.0, 2.0, 2.0, 2))


def test_speed_is_a_ratio_query_by_query() -> None:
    found = speed([1.0, 1.0, 4.0], [2.0, 8.0, 4.0])
    assert found.value == pytest.approx((2 * 8 * 1) ** (1 / 3))
    assert found.low <= found.value <= found.high
    assert math.isclose(speed([1.0] * 9, [2.0] * 9).low, 2.0)

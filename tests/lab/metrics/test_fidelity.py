"""Overlap with the truth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.metrics.fidelity import overlap, same_set

RANKING = st.lists(st.sampled_from("abcdef"), unique=True)


@given(found=RANKING, truth=RANKING)
def test_overlap_counts_what_was_found(found: list[str], truth: list[str]) -> None:
    expected = sum(one in found for one in truth) / len(truth) if truth else 1.0
    assert overlap(found, truth) == expected


@given(found=RANKING, truth=RANKING)
def test_the_same_set_is_full_overlap_with_nothing_more(found: list[str], truth: list[str]) -> None:
    assert same_set(found, truth) == (sorted(found) == sorted(truth))
    assert same_set(found, truth) == (overlap(found, truth) == 1 == overlap(truth, found))


def test_order_does_not_count() -> None:
    assert overlap(["c", "a"], ["a", "b"]) == pytest.approx(0.5)
    assert same_set(["b", "a"], ["a", "b"])
    assert not same_set(["a", "b", "c"], ["a", "b"])

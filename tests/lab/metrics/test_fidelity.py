"""Overlap with the truth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.metrics.quality import overlap, overlaps

RANKING = st.lists(st.sampled_from("abcdef"), unique=True)


@given(found=RANKING, truth=RANKING)
def test_overlap_counts_what_was_found(found: list[str], truth: list[str]) -> None:
    expected = sum(one in found for one in truth) / len(truth) if truth else 1.0
    assert overlap(found, truth) == expected


def test_order_does_not_count() -> None:
    assert overlap(["c", "a"], ["a", "b"]) == pytest.approx(0.5)
    assert overlap(["b", "a"], ["a", "b"]) == 1


def test_overlaps_are_of_the_first_k_of_both() -> None:
    truth = {"q": ["a", "b", "c"], "r": ["d", "e", "f"]}
    answers = {"r": ["e", "d", "x"], "q": ["c", "a", "b"], "other": []}
    assert overlaps(answers, truth, 1) == [0, 0]
    assert overlaps(answers, truth, 2) == [0.5, 1]
    assert overlaps(answers, truth, 3) == pytest.approx([1, 2 / 3])

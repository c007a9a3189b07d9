"""Conformal risk control: the guarantee, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maxsieve import spec

TARGETS = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)


@st.composite
def places(draw: st.DrawFn) -> np.ndarray:
    """Ranks by proxy of the true top k of some queries. In each row all are different."""
    k, queries = draw(st.integers(1, 4)), draw(st.integers(2, 40))
    documents = draw(st.integers(k, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Mostly small ranks and some large ones, as from a real proxy.
    weights = 1.0 / np.arange(1, documents + 1) ** draw(st.sampled_from([0.0, 1.0, 2.0]))
    return np.array([rng.choice(documents, k, replace=False, p=weights / weights.sum()) + 1 for _ in range(queries)])


def loss(row: np.ndarray, K: int, n: int) -> Fraction:
    return Fraction(int((row[:K] > n).sum()), K)


@settings(max_examples=300, deadline=None)
@given(places(), st.integers(1, 4), TARGETS)
def test_the_promise_holds_on_average_over_who_is_left_out(ranks: np.ndarray, K: int, overlap: Fraction) -> None:
    # Exchangeability says exactly this: each of the queries may be the next one.
    assume(ranks.shape[1] >= K)
    assume(len(ranks) - 1 >= spec.queries_needed(overlap))
    losses = [loss(ranks[i], K, spec.depth(np.delete(ranks, i, 0), K, overlap)) for i in range(len(ranks))]
    assert sum(losses) / len(losses) <= 1 - overlap


@settings(max_examples=300, deadline=None)
@given(places(), st.integers(1, 4), TARGETS)
def test_the_depth_is_the_smallest_that_the_bound_allows(ranks: np.ndarray, K: int, overlap: Fraction) -> None:
    assume(ranks.shape[1] >= K)
    m = len(ranks)
    assume(m >= spec.queries_needed(overlap))

    def bound(n: int) -> Fraction:
        return Fraction(m, m + 1) * sum(loss(row, K, n) for row in ranks) / m + Fraction(1, m + 1)

    n = spec.depth(ranks, K, overlap)
    assert bound(n) <= 1 - overlap
    assert n == 0 or bound(n - 1) > 1 - overlap


@settings(max_examples=200, deadline=None)
@given(places(), st.data())
def test_excluded_documents_cost_a_stricter_target(ranks: np.ndarray, data: st.DataObject) -> None:
    # The top K without x excluded documents is in the top K + x of all, at ranks that are no later.
    k = ranks.shape[1]
    x = data.draw(st.integers(0, k - 1))
    K, row = k - x, ranks[0]
    gone = set(data.draw(st.permutations(range(k)))[:x])
    kept = np.array([place for r, place in enumerate(row) if r not in gone])
    for n in range(int(row.max()) + 1):
        assert loss(kept, K, n) <= Fraction(k, K) * loss(row, k, n)


@pytest.mark.parametrize(("overlap", "queries"), [("0.99", 99), ("0.95", 19), ("0.9", 9), ("0.5", 1), ("0.999", 999)])
def test_so_many_queries_are_needed(overlap: str, queries: int) -> None:
    target = Fraction(overlap)
    assert spec.queries_needed(target) == queries
    assert spec.depth(np.full((queries, 1), 7), 1, target) == 7
    if queries > 1:
        with pytest.raises(ValueError, match=rf"\b{queries}\b.*\b{queries - 1}\b"):
            spec.depth(np.full((queries - 1, 1), 7), 1, target)


def test_the_answer_is_the_certified_top_of_the_survivors() -> None:
    rng = np.random.default_rng(3)
    documents = [rng.standard_normal((length, 8)).astype(np.float32) for length in (3, 0, 1, 5, 2, 4)]
    book = spec.Codebook(
        rng.integers(-127, 128, (2, 8)).astype(np.int8),
        np.array([0, 4, 8]),
        rng.integers(-127, 128, (8, 8)).astype(np.int8),
        np.float32(0.004),
        np.ones(8, np.float32),
    )
    Q = rng.standard_normal((3, 8)).astype(np.float32)
    proxies = spec.tier0_proxies(Q, documents, book)
    everything = spec.certified(Q, documents, 2)
    for n in range(1, 6):
        answer = spec.first_by_proxy(Q, documents, book, 2, n)
        chosen = spec.survivors(proxies, n).tolist()
        assert answer.survivors == n
        assert set(answer.positions) <= set(chosen)
        assert answer.positions == spec.top_k(
            np.where(np.isin(np.arange(6), chosen), spec.scores(Q, documents), -np.inf), min(2, n)
        )
        true_found = len(set(answer.positions) & set(everything.positions))
        places = spec.ranks_by_proxy(proxies, everything.positions)
        assert true_found == int((places <= n).sum())
    assert spec.first_by_proxy(Q, documents, book, 2, 5).positions == everything.positions

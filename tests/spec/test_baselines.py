"""Algorithms 2 and 3, the paper's baselines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.spec import cells, scores, top_k
from maxsieve.spec.baselines import ball_carving, cells_per_row, centroids, clusters, doc_uniform, token_order

from .support import Case, examples, ragged_cases

TAUS = st.floats(0.05, 1.0)


@given(st.integers(1, 4096), st.floats(1e-6, 1.0))
def test_the_budget_is_gamma_t_rounded_up(T: int, gamma: float) -> None:
    B = cells_per_row(gamma, T)
    assert 1 <= B <= T
    assert gamma * T - 1e-9 <= B < gamma * T + 1


@pytest.mark.parametrize("hundredths", range(5, 101, 5))
def test_a_rounded_product_costs_no_cell(hundredths: int) -> None:
    for T in range(1, 200):
        assert cells_per_row(hundredths / 100, T) == -(-hundredths * T // 100)


@examples(50)
@given(ragged_cases(), st.integers(0, 2**40), st.integers(1, 5))
def test_doc_uniform_at_gamma_one_is_exhaustive(case: Case, seed: int, K: int) -> None:
    Q, documents = case
    assert doc_uniform(Q, documents, K, 1.0, seed=seed) == top_k(scores(Q, documents), K)


@examples(50)
@given(ragged_cases(), st.integers(0, 2**40), st.floats(0.01, 1.0))
def test_doc_uniform_ranks_by_its_sample(case: Case, seed: int, gamma: float) -> None:
    Q, documents = case
    sums = []
    for i, E in enumerate(documents):
        sample = set(token_order(len(Q), seed, i)[: cells_per_row(gamma, len(Q))].tolist())
        assert len(sample) == cells_per_row(gamma, len(Q))
        row = cells(Q, E).astype(np.float64)
        sums.append(sum(float(row[t]) for t in sorted(sample)))
    assert doc_uniform(Q, documents, 3, gamma, seed=seed) == top_k(np.array(sums, np.float32), 3)


def test_every_document_draws_its_own_tokens_uniformly() -> None:
    """Each of 6 tokens is first in a sixth of 6,000 documents, and all pairs of first and second are equally likely."""
    orders = np.array([token_order(6, 5, i) for i in range(6000)])
    assert np.abs(np.bincount(orders[:, 0]) - 1000).max() < 150
    assert np.abs(np.bincount(6 * orders[1:, 0] + orders[:-1, 0]) - 6000 / 36).max() < 60
    assert not (orders == np.array([token_order(6, 6, i) for i in range(6000)])).all(axis=1).mean() > 0.01


@examples(200)
@given(ragged_cases(), TAUS)
def test_every_token_is_in_one_cluster_led_by_its_first(case: Case, tau: float) -> None:
    Q, _ = case
    found = clusters(Q, tau)
    assert sorted(t for cluster in found for t in cluster) == list(range(len(Q)))
    pivots = [cluster[0] for cluster in found]
    assert pivots == sorted(pivots)
    assert all(cluster == sorted(cluster) for cluster in found)


@examples(200)
@given(ragged_cases(), TAUS)
def test_a_cluster_holds_what_is_near_its_pivot_and_what_is_left(case: Case, tau: float) -> None:
    Q, _ = case
    wide = Q.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    taken: set[int] = set()
    for cluster in clusters(Q, tau):
        pivot = cluster[0]
        for t in set(range(len(Q))) - taken - {pivot}:
            both = lengths[pivot] * lengths[t]
            cosine = float(wide[pivot] @ wide[t]) / both if both > 0 else 0.0
            assert (t in cluster) == (cosine >= tau) or abs(cosine - tau) < 1e-12
        taken |= set(cluster)


@examples(100)
@given(ragged_cases(), TAUS)
def test_centroids_are_sums(case: Case, tau: float) -> None:
    Q, _ = case
    expected = [Q[cluster].astype(np.float64).sum(axis=0) for cluster in clusters(Q, tau)]
    np.testing.assert_allclose(centroids(Q, tau), expected, rtol=1e-6, atol=1e-6 * float(np.abs(Q).max(initial=0)))


@given(st.integers(1, 12), st.integers(2, 9), st.integers(0, 2**32), st.integers(1, 4))
def test_tau_one_is_exhaustive_for_tokens_in_general_position(T: int, d: int, seed: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((T, d)).astype(np.float32)
    documents = [rng.standard_normal((int(L), d)).astype(np.float32) for L in rng.integers(0, 5, 9)]
    assert (centroids(Q, 1.0) == Q).all()
    assert ball_carving(Q, documents, K, 1.0) == top_k(scores(Q, documents), K)


@given(st.integers(1, 6), st.integers(2, 200), st.integers(0, 2**32))
def test_equal_tokens_at_tau_one_lose_no_score(T: int, d: int, seed: int) -> None:
    """Whether their cosine rounds to 1 or below, the pivot stays in its cluster and the sums are the same."""
    Q = np.repeat(np.random.default_rng(seed).standard_normal((T, d)).astype(np.float32), 2, axis=0)
    np.testing.assert_allclose(centroids(Q, 1.0).sum(axis=0), Q.sum(axis=0), rtol=1e-4, atol=1e-4)
    assert T <= len(clusters(Q, 1.0)) <= 2 * T


def test_zero_tokens_are_clusters_of_their_own() -> None:
    Q = np.array([[0, 0], [1, 0], [0, 0], [2, 0]], np.float32)
    assert clusters(Q, 0.5) == [[0], [1, 3], [2]]


@pytest.mark.parametrize("knob", [0.0, -0.5, 1.5, float("nan")])
def test_knobs_out_of_range(knob: float) -> None:
    Q = np.eye(2, dtype=np.float32)
    with pytest.raises(ValueError, match=r"^tau"):
        clusters(Q, knob)
    with pytest.raises(ValueError, match=r"^gamma"):
        doc_uniform(Q, [Q], 1, knob)

"""Cells and scores: the canonical chain against exact rational MaxSim, and the tie rule."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from maxsieve.spec import cells, norm_up, score_of_cells, scores, scores_float64, similarities, top_k

from .support import Case, exact_cells, exact_score, examples, ragged_cases, rounded_to_float32, vectors


def rounding_bound(Q: np.ndarray, E: np.ndarray) -> Fraction:
    """docs/theory.md: canonical against real score, from exact upper bounds of the norms."""
    T, d = Q.shape
    norms = sum((Fraction(float(norm)) for norm in norm_up(Q.astype(np.float64))), Fraction(0))
    nu = Fraction(float(norm_up(E.astype(np.float64)).max()))
    return (d + 6) * Fraction(1, 2**24) * norms * nu + T * (d + 1) * Fraction(1, 2**149)


@examples(300)
@given(ragged_cases())
def test_canonical_scores_are_within_the_proven_rounding(case: Case) -> None:
    Q, documents = case
    for S, E in zip(scores(Q, documents), documents, strict=True):
        assert abs(Fraction(float(S)) - exact_score(Q, E)) <= rounding_bound(Q, E)


@examples(100)
@given(ragged_cases())
def test_each_cell_is_within_its_chain_error(case: Case) -> None:
    """d roundings of a chain: (1 + 2^-24)^d - 1 of |q_t| nu, and 2^-150 for each underflow."""
    Q, documents = case
    d = Q.shape[1]
    gamma = (1 + Fraction(1, 2**24)) ** d - 1
    for E in documents:
        nu = Fraction(float(norm_up(E.astype(np.float64)).max()))
        for q, cell, exact in zip(Q, cells(Q, E), exact_cells(Q, E), strict=True):
            bound = gamma * Fraction(float(norm_up(q.astype(np.float64)))) * nu + d * (1 + gamma) * Fraction(1, 2**150)
            assert abs(Fraction(float(cell)) - exact) <= bound


@pytest.mark.parametrize("d", [130, 4096])
def test_the_chain_can_use_up_nearly_all_of_d_plus_6(d: int) -> None:
    """1 + 2^-24 + 2^-24 + ... stays 1: d - 1 ties to even, all in one direction. No smaller multiple of d is enough."""
    x = np.full((1, d), 2.0**-12, np.float32)
    x[0, 0] = 1
    S = scores(x, [x])
    error = abs(Fraction(float(S[0])) - exact_score(x, x))
    assert float(S[0]) == 1.0
    assert error == (d - 1) * Fraction(1, 2**24)
    assert error <= rounding_bound(x, x)
    assert error >= Fraction(d - 2, d + 6) * rounding_bound(x, x)


def test_d_plus_6_covers_the_roundings_at_the_largest_sizes() -> None:
    """(1 + u)^(d + 1) (1 + v)^(T - 1) - 1 <= (d + 2) u, in exact arithmetic, with u = 2^-24 and v = 2^-53."""
    u, v = Fraction(1, 2**24), Fraction(1, 2**53)
    total = (1 + v) ** 4095
    for d in (1, 3, 31, 130, 1024, 4096):
        assert (1 + u) ** (d + 1) * total - 1 <= (d + 2) * u
    assert (1 + u) ** 4097 * total - 1 > (4096 + 1) * u  # the second-order terms are there


def test_similarities_run_over_k_in_order() -> None:
    """2^30 + 1 - 2^30 in float32: the result shows the order."""
    Q = np.ones((1, 3), np.float32)
    E = np.array([[2.0**30, 1, -(2.0**30)], [2.0**30, -(2.0**30), 1], [1, 2.0**30, -(2.0**30)]], np.float32)
    assert similarities(Q, E).tolist() == [[0.0, 1.0, 0.0]]


def test_similarities_are_fused() -> None:
    """x*x - 1 - 2^-11 with x = 1 + 2^-12: a rounded product would leave 0."""
    x = np.array([[1, 1 + 2.0**-12]], np.float32)
    e = np.array([[-1 - 2.0**-11, 1 + 2.0**-12]], np.float32)
    assert similarities(x, e).tolist() == [[2.0**-24]]


@pytest.mark.parametrize("d", [1, 3, 31, 130])
def test_one_hot_queries_read_off_coordinates(d: int) -> None:
    E = vectors(np.random.default_rng(d), 4, d, "all scales")
    assert cells(np.eye(d, dtype=np.float32), E).tolist() == E.max(axis=0).tolist()


def test_all_negative_similarities_stay_negative() -> None:
    Q, E = np.ones((2, 3), np.float32), -np.ones((2, 3), np.float32)
    assert cells(Q, E).tolist() == [-3.0, -3.0]
    assert scores(Q, [E]).tolist() == [-6.0]


def test_a_score_is_summed_in_float64_in_token_order_and_rounded_once() -> None:
    big = 2.0**60
    assert float(score_of_cells(np.array([big, 1, -big], np.float32))) == 0.0
    assert float(score_of_cells(np.array([big, -big, 1], np.float32))) == 1.0
    # 1 + 2^-24 + 2^-24 = 1 + 2^-23: lost if each partial sum were rounded to float32
    assert float(score_of_cells(np.array([1, 2.0**-24, 2.0**-24], np.float32))) == 1 + 2.0**-23
    row = np.random.default_rng(0).standard_normal(99).astype(np.float32)
    total = 0.0
    for cell in row.tolist():
        total += cell
    assert float(score_of_cells(row)) == rounded_to_float32(Fraction(total))


def test_scores_of_ragged_documents_agree_with_float64() -> None:
    rng = np.random.default_rng(2)
    Q = vectors(rng, 8, 31, "unit")
    documents = [vectors(rng, length, 31, "unit") for length in (1, 5, 0, 17)]
    S, reference = scores(Q, documents), scores_float64(Q, documents)
    assert S.dtype == np.float32
    assert S[2] == reference[2] == -np.inf
    kept = [0, 1, 3]
    assert np.abs(S[kept] - reference[kept]).max() <= 8 * 37 * 2.0**-24


def test_duplicated_tokens_and_documents_change_nothing() -> None:
    rng = np.random.default_rng(4)
    Q, E = vectors(rng, 5, 31, "normal"), vectors(rng, 3, 31, "normal")
    once, twice, reversed_ = scores(Q, [E, np.concatenate([E, E]), E[::-1]])
    assert once == twice == reversed_


def test_top_k_breaks_ties_by_position_and_skips_empty_documents() -> None:
    S = np.array([2, 5, -np.inf, 5, 2, 7], np.float32)
    assert top_k(S, 1) == [5]
    assert top_k(S, 2) == [5, 1]
    assert top_k(S, 4) == [5, 1, 3, 0]
    assert top_k(S, 9) == [5, 1, 3, 0, 4]
    assert top_k(np.array([-np.inf], np.float32), 3) == []
    assert top_k(np.array([], np.float32), 3) == []
    assert top_k(np.array([0.0, -0.0, 0.0], np.float32), 3) == [0, 1, 2]

"""Codes, scales and the norms of residuals, compared with exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.spec import codes_of, integer_maxima, quantise_document, quantise_query

from .support import DIMENSIONS, KINDS, Case, examples, ragged_cases, squared_norm, vectors

FLOAT32 = st.floats(-(2.0**50), 2.0**50, width=32)


def exact_residual(x: np.ndarray, codes: np.ndarray, scale: np.float32) -> list[list[Fraction]]:
    s = Fraction(float(scale))
    pairs = zip(x, codes, strict=True)
    return [[Fraction(float(v)) - s * int(c) for v, c in zip(row, row_codes, strict=True)] for row, row_codes in pairs]


def assert_up32_of_norm(bound: float, exact_squared: Fraction, d: int) -> None:
    """An upper bound, which is at most one float32 step and the slack of `norm_up` too large."""
    assert Fraction(bound) ** 2 >= exact_squared
    below = float(np.nextafter(np.float32(bound), np.float32(0)))
    assert Fraction(below) ** 2 <= exact_squared * (1 + (2 * d + 40) * Fraction(1, 2**52))


@examples(200)
@given(ragged_cases())
def test_residuals_are_exact_and_rho_and_nu_bound_them(case: Case) -> None:
    Q, documents = case
    d = Q.shape[1]
    for E in documents:
        c = quantise_document(E)
        residual = E.astype(np.float64) - np.float64(c.scale) * c.codes
        exact = exact_residual(E, c.codes, c.scale)
        assert [[Fraction(float(v)) for v in row] for row in residual] == exact
        assert_up32_of_norm(float(c.rho), max(sum((v * v for v in row), Fraction(0)) for row in exact), d)
        assert_up32_of_norm(float(c.nu), max(squared_norm(row) for row in E.astype(np.float64)), d)
        assert c.scale.dtype == c.rho.dtype == c.nu.dtype == np.float32


@examples(350)
@given(st.lists(FLOAT32, min_size=1, max_size=6))
def test_codes_stay_in_range_and_are_the_nearest(values: list[float]) -> None:
    x = np.array([values], np.float32)
    codes, scale = codes_of(x)
    m = float(np.abs(x).max())
    assert codes.dtype == np.int8
    assert np.abs(codes.astype(int)).max() == (127 if m >= 2.0**-100 else 0)
    for residual in exact_residual(x, codes, scale)[0]:
        if m >= 2.0**-100:
            assert abs(residual) <= Fraction(float(scale)) * (Fraction(1, 2) + Fraction(1, 2**14))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_query_norms_bound_the_query_its_codes_and_their_difference(kind: str, d: int) -> None:
    Q = vectors(np.random.default_rng(d), 6, d, kind)
    y = quantise_query(Q)
    assert y.codes.shape == Q.shape
    slack = 1 + (2 * d + 40) * Fraction(1, 2**52)
    for t, q in enumerate(Q):
        s = Fraction(float(y.scale[t]))
        coded = [s * int(c) for c in y.codes[t]]
        exact = {
            "norm": squared_norm(q.astype(np.float64)),
            "code_norm": sum((v * v for v in coded), Fraction(0)),
            "eta": sum(((Fraction(float(v)) - w) ** 2 for v, w in zip(q, coded, strict=True)), Fraction(0)),
        }
        for name, squared in exact.items():
            bound = Fraction(float(getattr(y, name)[t])) ** 2
            assert squared <= bound <= squared * slack, name


def test_halves_round_to_even_and_signs_are_kept() -> None:
    x = np.array([[127, -127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.25]], np.float32)
    codes, scale = codes_of(x)
    assert float(scale) == 1.0
    assert codes.tolist() == [[127, -127, 0, 2, 2, 0, -2, -2, 3]]


def test_one_scale_serves_the_whole_document_and_each_query_token_has_its_own() -> None:
    x = np.array([[127, 0], [1, 0]], np.float32)
    c, y = quantise_document(x), quantise_query(x)
    assert c.codes.tolist() == [[127, 0], [1, 0]]
    assert y.codes.tolist() == [[127, 0], [127, 0]]
    assert y.scale.tolist() == [1.0, float(np.float32(1) / np.float32(127))]


@pytest.mark.parametrize(("largest", "coded"), [(2.0**-100, True), (2.0**-101, False), (2.0**-149, False), (0, False)])
def test_the_tiniest_vectors_are_all_residual(largest: float, coded: bool) -> None:
    x = np.array([[largest, 0]], np.float32)
    c = quantise_document(x)
    assert (float(c.scale) > 0) == coded
    assert c.codes.tolist() == [[127 if coded else 0, 0]]
    assert coded or float(c.rho) == float(c.nu) >= largest


def test_the_largest_magnitude_is_coded() -> None:
    x = np.array([[2.0**50, -(2.0**50), 2.0**49]], np.float32)
    assert quantise_document(x).codes.tolist() == [[127, -127, 64]]


def test_integer_products_fit_int32_at_the_largest_dimension() -> None:
    Q, E = np.ones((2, 4096), np.float32), np.ones((1, 4096), np.float32)
    Q[1] = -1
    maxima = integer_maxima(quantise_query(Q), quantise_document(E))
    assert maxima.tolist() == [127 * 127 * 4096, -127 * 127 * 4096]
    assert 127 * 127 * 4096 < 2**26


def test_integer_maxima_by_hand() -> None:
    Q = np.array([[127, 0], [-127, 1]], np.float32)
    E = np.array([[127, 5], [-3, -127]], np.float32)
    assert integer_maxima(quantise_query(Q), quantise_document(E)).tolist() == [127 * 127, 3 * 127 - 127]

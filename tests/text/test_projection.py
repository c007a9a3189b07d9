"""Principal axes, and encoders that project to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxsieve.text import Encoder, ProjectedEncoder, Traceable, fit_projection
from maxsieve.text.encoders import projection

from .support import Untraceable, WordEncoder

ROWS = hnp.arrays(np.float32, st.tuples(st.integers(6, 40), st.just(6)), elements=st.floats(-2, 2, width=32))


def off_centre(rows: int = 400, dim: int = 10) -> Any:
    """Rows around a point that is not the origin, with a different variance in each direction."""
    rng = np.random.default_rng(3)
    mixed = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return (rng.standard_normal((rows, dim)) * np.arange(1, dim + 1) + 20 * (np.arange(dim) == 0)) @ mixed


def test_axes_are_the_right_singular_vectors_of_the_rows_as_they_are() -> None:
    rows = off_centre()
    axes = fit_projection(rows, 4)
    assert axes.shape == (10, 4)
    assert axes.dtype == np.float32
    expected = np.linalg.svd(rows, full_matrices=False)[2][:4].T
    np.testing.assert_allclose(np.abs((axes * expected).sum(axis=0)), 1, rtol=0, atol=1e-6)


@given(ROWS, st.integers(1, 6))
def test_axes_are_orthonormal_and_their_sign_is_settled(rows: Any, dim: int) -> None:
    if not rows.any():
        return
    axes = fit_projection(rows, dim)
    np.testing.assert_allclose(axes.T @ axes, np.eye(dim), rtol=0, atol=1e-5)
    assert (np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0) > 0).all()


def test_how_the_rows_are_given_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = off_centre()
    whole = fit_projection(rows, 3)
    np.testing.assert_allclose(fit_projection([rows[:1], rows[1:150], rows[:0], rows[150:]], 3), whole, atol=1e-6)
    np.testing.assert_allclose(fit_projection(iter([rows]), 3), whole, atol=1e-6)
    monkeypatch.setattr(projection, "_CHUNK", 7)
    np.testing.assert_allclose(fit_projection(rows, 3), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("vectors", "dim", "sentence"),
    [
        ([], 1, "fitted"),
        (np.zeros((3, 2)), 1, "zero"),
        (np.ones((3, 2)), 3, r"^dim\b.*\b2\b"),
        (np.ones((3, 2)), 0, r"^dim\b.*\b0$"),
        ([np.ones((3, 2)), np.ones((3, 4))], 1, r"^vectors\[1\].*\(3, 4\)"),
        ([np.ones(3)], 1, r"^vectors\[0\].*\(3,\)"),
        (np.array([[1.0, np.nan]]), 1, "NaN"),
    ],
)
def test_what_no_projection_can_be_fitted_to(vectors: Any, dim: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit_projection(vectors, dim)


def test_a_projected_encoder() -> None:
    inner = WordEncoder(dim=16)
    matrix = fit_projection(inner.encode_documents(["some words to fit a few axes to"]), 5)
    encoder = ProjectedEncoder(inner, matrix)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.dim) == ("words", 5)
    (rows,) = encoder.encode_documents(["two words"])
    expected = inner.encode_queries(["two words"])[0] @ matrix
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode_queries(["two words"])[0], rows)
    assert encoder.encode_documents([""])[0].shape == (0, 5)


def test_a_row_without_a_part_in_the_matrix_stays_zero() -> None:
    inner = WordEncoder(dim=2)
    word = inner.encode_queries(["word"])[0][0].astype(np.float64)
    across = np.array([[-word[1]], [word[0]]], np.float64)
    rows = ProjectedEncoder(inner, np.where(np.abs(word @ across) < 1e-7, 0, 1) * across).encode_queries(["word"])[0]
    assert not rows.any()


def test_it_is_traceable_if_the_inner_encoder_is() -> None:
    traceable, other = ProjectedEncoder(WordEncoder(), np.eye(16, 3)), ProjectedEncoder(Untraceable(), np.eye(16, 3))
    assert isinstance(traceable, Traceable)
    assert not isinstance(other, Traceable)
    assert traceable.document_spans("a bc") == traceable.query_spans("a bc") == [(0, 1), (2, 4)]


def test_the_fingerprint_has_the_matrix() -> None:
    inner, matrix = WordEncoder(), np.eye(16, 3)
    one, same = ProjectedEncoder(inner, matrix), ProjectedEncoder(inner, matrix.astype(np.float32))
    assert one.fingerprint == same.fingerprint
    assert inner.fingerprint.items() <= one.fingerprint.items()
    assert ProjectedEncoder(inner, -matrix).fingerprint != one.fingerprint
    assert ProjectedEncoder(inner, np.eye(16, 4)).fingerprint != one.fingerprint


def test_the_matrix_is_the_encoders_own() -> None:
    matrix = np.eye(16, 3, dtype=np.float32)
    encoder = ProjectedEncoder(WordEncoder(), matrix)
    before = encoder.fingerprint
    matrix[:] = 7
    assert encoder.fingerprint == before
    with pytest.raises(ValueError, match="read-only"):
        encoder.matrix[0] = 1


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.eye(15, 3), r"\(15, 3\)"),
        (np.eye(16, 17), r"\(16, 17\)"),
        (np.ones(16), r"\(16,\)"),
        (np.empty((16, 0)), r"\(16, 0\)"),
        (np.full((16, 2), np.inf), "infinity"),
    ],
)
def test_matrices_that_are_refused(matrix: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ProjectedEncoder(WordEncoder(), matrix)

"""Residual bits: a rotation that keeps lengths, codes that decode to about the row, and a bound that always holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.spec import Codebook, assign, quantise_document, quantise_query, residual, scores

from .support import Case, exact_score, examples, ragged_cases


def a_book(d: int, seed: int, centroids: int = 8) -> Codebook:
    """Random directions, in two groups."""
    c = np.random.default_rng(seed).standard_normal((centroids, d))
    c /= np.linalg.norm(c, axis=1, keepdims=True)
    scale = np.float32(np.abs(c).max() / 127)
    codes = np.rint(c / scale).astype(np.int8)
    starts = np.array([0, centroids // 2, centroids])
    return Codebook(codes[starts[:2]], starts, codes, scale, np.ones(centroids, np.float32))


def coded(book: Codebook, E: np.ndarray, bits: int) -> residual.ResidualCodes:
    """A document as the store has it: byte codes of the rotated rows first, residual bits of those."""
    c = quantise_document(residual.rotate(E))
    return residual.encode(book, c.codes * c.scale, assign(book, c.codes), bits)


@examples(150)
@given(ragged_cases(shortest=1), st.sampled_from(residual.BITS), st.integers(0, 9))
def test_no_score_leaves_its_interval(case: Case, bits: int, seed: int) -> None:
    """Both the canonical and the real score of the stored rows."""
    Q, documents = case
    Q, documents = residual.rotate(Q), [E for E in documents if len(E)]
    book = a_book(Q.shape[1], seed)
    codes = [coded(book, E, bits) for E in documents]
    rows = [residual.decode(book, c) for c in codes]
    P, eps = residual.proxies_and_errors(book, quantise_query(Q), codes, bits)
    for i, (S, X) in enumerate(zip(scores(Q, rows), rows, strict=True)):
        for score in (Fraction(float(S)), exact_score(Q, X)):
            assert abs(score - Fraction(float(P[i]))) <= Fraction(float(eps[i]))


@pytest.mark.parametrize("bits", residual.BITS)
def test_arbitrary_codes_are_bounded_too(bits: int) -> None:
    """The proof needs no relation between a row and its codes: any bytes are some stored row."""
    rng = np.random.default_rng(bits)
    for d in (1, 5, 64, 130):
        book, Q = a_book(d, d), rng.standard_normal((6, d)).astype(np.float32)
        levels = (2 * rng.integers(0, 2**bits, (20, d)) - 2**bits + 1).astype(np.int8)
        factors = rng.integers(0, 256, (20, 2)).astype(np.uint8)
        codes = residual.ResidualCodes(bits, rng.integers(0, 8, 20), levels, factors, np.float32(3.7), np.float32(0))
        rows = residual.decode(book, codes)
        codes = codes._replace(nu=np.float32(np.linalg.norm(rows.astype(np.float64), axis=1).max() * 1.000001))
        P, eps = residual.proxies_and_errors(book, quantise_query(Q), [codes], bits)
        assert abs(float(scores(Q, [rows])[0]) - P[0]) <= eps[0]


@pytest.mark.parametrize("d", [1, 5, 16, 48, 130])
def test_sums_for_signs_fit_into_bytes_and_lose_no_more_than_they_say(d: int) -> None:
    rng = np.random.default_rng(d)
    rows = np.concatenate([[np.ones(d), np.zeros(d)], np.eye(d)[:1], rng.standard_normal((40, d))])
    y = quantise_query(rows.astype(np.float32))
    sums = residual.sign_sums(y, 1)
    largest = np.abs(sums.entries).max(axis=2)
    assert largest.reshape(len(rows), -1, 4).sum(axis=2).max() <= 127
    levels = rng.choice(np.array([-3, -1, 1, 3], np.int8), (200, d))
    for bits, some in ((1, np.sign(levels)), (2, levels)):
        exact = some.astype(np.int64) @ y.codes.astype(np.int64).T
        lost = np.abs(exact - residual.level_sums(y, some, bits) * sums.step.astype(np.float64))
        assert (lost <= (2**bits - 1) * sums.error).all()
    assert sums.error[1] == 0


@pytest.mark.parametrize(("bits", "most"), [(1, 0.76), (2, 0.40), (4, 0.13)])
def test_more_bits_are_nearer(bits: int, most: float) -> None:
    """The part along a row is kept. Signs lose sqrt(pi/2 - 1) = 0.755 of the distance to the centroid, in the mean."""
    rng = np.random.default_rng(0)
    book = a_book(128, 0, 64)
    near = book.codes[rng.integers(0, 64, 300)] * book.scale
    E = residual.unrotate((near + 0.04 * rng.standard_normal((300, 128))).astype(np.float32))
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    codes = coded(book, E, bits)
    decoded = residual.decode(book, codes).astype(np.float64)
    turned = residual.rotate(E)
    assert np.allclose((decoded * turned).sum(axis=1), 1, atol=0.01)
    centre = book.codes[codes.centroids] * np.float64(book.scale)
    lost = np.linalg.norm(decoded - turned, axis=1) / np.linalg.norm(turned - centre, axis=1)
    assert 0.7 * most < lost.mean() < most


def test_zero_rows_and_tiny_documents_decode_to_zero() -> None:
    book = a_book(16, 1)
    rows = np.zeros((3, 16), np.float32)
    rows[1] = 2.5
    decoded = residual.decode(book, coded(book, rows, 1))
    assert not decoded[[0, 2]].any()
    assert decoded[1].any()
    assert not residual.decode(book, coded(book, np.full((2, 16), 1e-35, np.float32), 2)).any()


@pytest.mark.parametrize(("d", "bits"), [(1, 1), (128, 1), (4096, 1), (4096, 2), (2048, 4)])
def test_entries_of_the_table_fit_into_int16_and_cells_into_int32(d: int, bits: int) -> None:
    steps = residual.steps_of(d, bits)
    longest = 127 * np.sqrt(d) * residual.LONGEST_CENTROID * float(steps.length) / float(steps.scale)
    assert longest / 2**steps.shift <= 32760
    assert 0 <= steps.shift <= 7
    assert (255 << steps.shift) * 32767 + 255 * 127 * (2**bits - 1) * d < 2**31

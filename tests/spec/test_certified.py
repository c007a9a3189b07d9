"""The certificate `|S - P| <= eps`, and the best-first rescore that it allows."""

from __future__ import annotations

import importlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.spec import (
    certified,
    epsilon,
    error_terms,
    proxies_and_errors,
    proxy,
    quantise_document,
    quantise_query,
    scores,
    top_k,
)

from .support import (
    DIMENSIONS,
    KINDS,
    Case,
    exact_score,
    examples,
    make_case,
    ragged_cases,
    scaled,
    vectors,
)

MODULE = importlib.import_module("maxsieve.spec.certified")  # the package's attribute of that name is the function


def assert_certificate(Q: np.ndarray, documents: list[np.ndarray]) -> None:
    """Both the canonical and the real score are in [P - eps, P + eps], as reals and with ends computed in float64."""
    P, eps = proxies_and_errors(Q, documents)
    for i, (S, E) in enumerate(zip(scores(Q, documents), documents, strict=True)):
        if not len(E):
            assert P[i] == -np.inf
            continue
        exact = exact_score(Q, E)
        for score in (Fraction(float(S)), exact):
            assert abs(score - Fraction(float(P[i]))) <= Fraction(float(eps[i]))
            assert Fraction(float(P[i] - eps[i])) <= score <= Fraction(float(P[i] + eps[i]))


@examples(350)
@given(ragged_cases(shortest=0))
def test_no_score_leaves_its_interval(case: Case) -> None:
    assert_certificate(*case)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_score_leaves_its_interval_sweep(kind: str, d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(scaled(5)):
        assert_certificate(*make_case(rng, d, kind, [kind], shortest=0))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_one_query_token_against_one_document_token(d: int) -> None:
    rng = np.random.default_rng(d)
    for kind in KINDS:
        assert_certificate(vectors(rng, 1, d, kind), [vectors(rng, 1, d, other) for other in KINDS])


def test_the_certificate_holds_at_the_largest_dimension_and_for_many_tokens() -> None:
    rng = np.random.default_rng(0)
    wide = np.full((1, 4096), 2.0**-12, np.float32)
    wide[0, 0] = 1  # the chain loses 4,095 ties, all in the same direction
    assert_certificate(wide, [wide, -wide])
    assert_certificate(vectors(rng, 300, 3, "unit"), [vectors(rng, 2, 3, "unit") for _ in range(3)])


def test_the_rounding_part_alone_holds_where_codes_lose_nothing() -> None:
    """Vectors of +-127/128 have exact codes, so that eps is mostly the rounding terms; still no score is outside."""
    rng = np.random.default_rng(1)
    Q = (rng.choice([-127, 127], (5, 31)) / 128).astype(np.float32)
    documents = [(rng.choice([-127, 127], (3, 31)) / 128).astype(np.float32) for _ in range(20)]
    assert_certificate(Q, documents)
    _, eps = proxies_and_errors(Q, documents)
    assert eps.max() < 5 * 31 * 40 * 2.0**-24


def test_the_quantisation_part_is_needed() -> None:
    """Without the Cauchy-Schwarz terms the interval would be wrong. With them it is a little wider, not useless."""
    rng = np.random.default_rng(2)
    Q = vectors(rng, 8, 130, "unit")
    documents = [vectors(rng, 6, 130, "unit") for _ in range(40)]
    P, eps = proxies_and_errors(Q, documents)
    error = np.abs(scores(Q, documents).astype(np.float64) - P)
    rounding_only = (130 + 6) * 2.0**-24 * 8
    assert error.max() > 10 * rounding_only
    assert error.max() > eps.max() / 100
    assert eps.max() < 0.2  # of scores between -8 and 8


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ([[-127.0]], [[127.0], [0.5]]),  # the document's 0.5 has the code 0: all of rho |s y|
        ([[127.0, 0.5]], [[0.0, 127.0]]),  # the query's 0.5 has it: all of nu eta
    ],
)
def test_both_cauchy_schwarz_terms_can_be_attained(query: list[list[float]], document: list[list[float]]) -> None:
    Q, E = np.array(query, np.float32), np.array(document, np.float32)
    P, eps = proxies_and_errors(Q, [E])
    error = abs(float(scores(Q, [E])[0]) - P[0])
    assert error == 63.5
    assert error <= eps[0] < error * 1.001
    assert_certificate(Q, [E])


def test_error_terms_by_hand() -> None:
    """T = 2, d = 1: both query tokens are 127, coded without loss; a document of 127 and 1.25 has scale 1."""
    y = quantise_query(np.array([[127], [127]], np.float32))
    c = quantise_document(np.array([[127], [1.25]], np.float32))
    assert (float(c.scale), float(c.rho), float(c.nu)) == pytest.approx((1.0, 0.25, 127.0), rel=1e-6)
    terms = error_terms(y)
    assert terms.on_rho == pytest.approx(254, rel=1e-12)
    assert terms.on_nu == pytest.approx(7 * 2.0**-24 * 254, rel=1e-6)
    assert terms.constant == 4 * 2.0**-149
    assert epsilon(terms, c) == pytest.approx(0.25 * 254 + 127 * 7 * 2.0**-24 * 254, rel=1e-6)
    assert epsilon(terms, c) >= (float(c.rho) * terms.on_rho + float(c.nu) * terms.on_nu) * (1 + 2.0**-39)
    assert proxy(y, c) == 2 * 127 * 127


def test_the_proxy_needs_both_scales() -> None:
    Q = np.array([[1.0, 0.0]], np.float32)
    P, _ = proxies_and_errors(Q, [np.array([[4.0, 0.0]], np.float32), np.array([[0.5, 0.25]], np.float32)])
    assert P.tolist() == pytest.approx([4.0, 0.5], rel=1e-6)


@examples(300)
@given(ragged_cases(shortest=0), st.integers(1, 9))
def test_certified_equals_exhaustive(case: Case, K: int) -> None:
    Q, documents = case
    answer, S = certified(Q, documents, K), scores(Q, documents)
    best = top_k(S, K)
    assert answer.positions == best
    assert answer.scores.tobytes() == S[best].tobytes()
    count = sum(len(E) > 0 for E in documents)
    assert len(best) <= answer.rescored <= count
    assert answer.threshold == (float(S[best[-1]]) if count >= K else -np.inf)


def rescored_with_prefilter(Q: np.ndarray, documents: list[np.ndarray], K: int) -> int:
    """What an engine may do: sort only the documents whose P + eps reaches the K-th largest P - eps."""
    P, eps = proxies_and_errors(Q, documents)
    S = scores(Q, documents)
    lower = np.sort(P - eps)
    floor = lower[-K] if len(lower) >= K else -np.inf
    kept = [i for i in range(len(documents)) if P[i] > -np.inf and P[i] + eps[i] >= floor]
    kept.sort(key=lambda i: (-(P[i] + eps[i]), i))
    seen: list[float] = []
    for i in kept:
        if len(seen) >= K and P[i] + eps[i] < sorted(seen)[-K]:
            break
        seen.append(float(S[i]))
    return len(seen)


@pytest.mark.parametrize("K", [1, 2, 5, 10])
def test_rescoring_stops_early_and_a_prefilter_changes_no_count(K: int) -> None:
    rng = np.random.default_rng(K)
    saved = 0
    for _ in range(scaled(10)):
        Q = vectors(rng, 4, 31, "unit")
        documents = [vectors(rng, int(rng.integers(0, 4)), 31, "unit") for _ in range(30)]
        answer = certified(Q, documents, K)
        assert answer.positions == top_k(scores(Q, documents), K)
        assert answer.rescored == rescored_with_prefilter(Q, documents, K)
        saved += sum(len(E) > 0 for E in documents) - answer.rescored
    assert saved > scaled(10) * 5


def test_duplicates_are_all_rescored_and_the_first_ones_win() -> None:
    E = vectors(np.random.default_rng(0), 3, 31, "unit")
    low = -np.abs(E)
    answer = certified(np.abs(E), [low, np.abs(E), low, np.abs(E), np.abs(E)], 2)
    assert answer.positions == [1, 3]
    assert answer.rescored == 3


def test_a_bound_equal_to_the_threshold_is_still_rescored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Position 0 ties with the K-th hit and wins by position: stopping at `<=` would lose it."""
    documents = [np.array([[2.0]], np.float32), np.array([[2.0]], np.float32), np.array([[1.0]], np.float32)]
    P, eps = np.array([2.0, 2.5, 1.5]), np.array([0.0, 0.5, 0.4375])
    monkeypatch.setattr(MODULE, "proxies_and_errors", lambda Q, docs: (P, eps))
    answer = certified(np.ones((1, 1), np.float32), documents, 1)
    assert answer.positions == [0]
    assert answer.rescored == 2  # not the third, whose bound 1.9375 is below 2


def test_documents_are_taken_in_order_of_their_upper_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest interval comes first even if its middle is low. Ties of bounds are ordered by position."""
    documents = [np.array([[v]], np.float32) for v in (1.0, 5.0, 3.0, 3.0)]
    P, eps = np.array([0.0, 5.0, 3.0, 3.0]), np.array([9.0, 0.5, 1.0, 1.0])
    monkeypatch.setattr(MODULE, "proxies_and_errors", lambda Q, docs: (P, eps))
    Q = np.ones((1, 1), np.float32)
    assert certified(Q, documents, 1).rescored == 2  # 0, then 1: the next bound, 4, is below 5
    assert certified(Q, documents, 2).rescored == 4  # the second best is 3 until the end
    assert certified(Q, documents, 2).positions == [1, 2]


def test_no_hits_among_empty_documents() -> None:
    answer = certified(np.ones((1, 2), np.float32), [np.zeros((0, 2), np.float32)] * 2, 3)
    assert answer.positions == []
    assert answer.rescored == 0
    assert answer.threshold == -np.inf

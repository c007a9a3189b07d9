"""The engine against the specification: ids, order, score bits, reports, on every ISA of the machine."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from cases import Case, make_case
from long_form import scaled
from maxsieve import _core, spec

CHUNKS = 20


def rounding_bound(case: Case) -> np.ndarray:
    """How much canonical and real score may differ, including the rounding of the float64 reference."""
    model = spec.reveal_exact(case.query, [E for E in case.documents if len(E)])
    tokens, d = case.query.shape
    return model.eps * (1 + 2.0**-20) + (tokens + d) * 2.0**-52 * (model.b.sum() + 1)


def check(case: Case) -> None:
    """Everything that must be true for one case, on every ISA."""
    Q, documents, k = case
    S = spec.scores(Q, documents)
    best = spec.top_k(S, k)
    filled = [i for i, E in enumerate(documents) if len(E)]
    if filled:
        reference = spec.scores_float64(Q, [documents[i] for i in filled])
        assert (np.abs(S[filled].astype(np.float64) - reference) <= rounding_bound(case)).all()
    P, eps = spec.proxies_and_errors(Q, documents)
    assert (np.abs(S[filled].astype(np.float64) - P[filled]) <= eps[filled]).all()
    expected = spec.certified(Q, documents, k)
    assert expected.positions == best

    for isa in ms.isas():
        _core.use_isa(isa)
        index = ms.Index.build(documents)
        exhaustive = index.search(Q, k, policy=ms.Exhaustive())
        certified = index.search(Q, k)
        assert exhaustive.ids == best == certified.ids, isa
        assert exhaustive.scores.tobytes() == S[best].tobytes() == certified.scores.tobytes(), isa
        assert certified.report.guarantee == exhaustive.report.guarantee == "exact"
        assert certified.report.rescored == expected.rescored
        assert certified.report.rounds == [(len(filled), len(Q), expected.threshold)]
        assert certified.report.coverage == 1.0
        assert ms.maxsim(Q, documents).tobytes() == S.tobytes()
        if filled:
            full = ms.Index.build([documents[i] for i in filled])
            lower, upper = _core.bounds(full.storage.snapshot.corpus, Q, 1)
            assert lower.tobytes() == (P - eps)[filled].tobytes(), isa
            assert upper.tobytes() == (P + eps)[filled].tobytes(), isa
    _core.use_isa("")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_seeded_sweep(chunk: int) -> None:
    """2,000 cases of ten kinds, with documents of different lengths (20,000 in the long form)."""
    for seed in range(chunk, scaled(2000), CHUNKS):
        check(make_case(seed))


finite = st.floats(-(2.0**50), 2.0**50, width=32) | st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 2.0**-149, -(2.0**-126), 0.5]
)


@st.composite
def hostile_cases(draw: st.DrawFn) -> Case:
    """Values that hypothesis chooses and shrinks: zeros of both signs, denormals, the largest allowed, ties."""
    d = draw(st.sampled_from([1, 2, 3, 5, 31, 33]))

    def matrix(least: int, most: int) -> st.SearchStrategy[np.ndarray]:
        return hnp.arrays(np.float32, st.tuples(st.integers(least, most), st.just(d)), elements=finite)

    documents = draw(st.lists(matrix(0, 4), min_size=1, max_size=6))
    if draw(st.booleans()):
        documents = documents + documents[:2]
    return Case(draw(matrix(1, 6)), documents, draw(st.integers(1, 8)))


@given(hostile_cases())
def test_hostile_values(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("kind", range(10))
def test_quantiser_bits(kind: int, isa: str) -> None:
    """Codes, scale, rho and nu are the specification's, to the bit."""
    for seed in range(kind, 100, 10):
        documents = make_case(seed).documents
        (segment, *_) = ms.Index.build(documents).storage.snapshot.segments
        for i, E in enumerate(documents):
            expected = spec.quantise_document(E)
            rows = slice(segment.offsets[i], segment.offsets[i + 1])
            d = E.shape[1]
            assert np.array_equal(segment.codes[rows, :d], expected.codes)
            assert not segment.codes[rows, d:].any()
            for name in ("scale", "rho", "nu"):
                assert getattr(segment, name)[i].tobytes() == getattr(expected, name).tobytes(), (name, isa)


def test_codes_stay_in_range() -> None:
    """The kernels' overflow arguments need |code| <= 127: the largest magnitude of a document always becomes +-127."""
    rng = np.random.default_rng(7)
    for exponent in range(-100, 51, 3):
        document = np.minimum(rng.uniform(1, 2, (3, 40)) * 2.0**exponent, 2.0**50).astype(np.float32)
        (segment,) = ms.Index.build([document]).storage.snapshot.segments
        assert np.abs(segment.codes.astype(int)).max() == 127


def test_cells_are_those_of_the_specification(isa: str) -> None:
    rng = np.random.default_rng(8)
    documents = [rng.standard_normal((length, 33)).astype(np.float32) for length in (1, 0, 7, 70)]
    query = rng.standard_normal((11, 33)).astype(np.float32)
    corpus = ms.Index.build(documents).storage.snapshot.corpus
    found = _core.cells(corpus, query, 2)
    assert found.shape == (4, 11)
    assert np.isneginf(found[1]).all()
    for position in (0, 2, 3):
        assert found[position].tobytes() == spec.cells(query, documents[position]).tobytes()


def test_a_cell_that_is_zero_is_positive(isa: str) -> None:
    """A similarity of -0.0, from a product too small for float32, beside +0.0, in any order and number."""
    tiny = np.float32(2.0**-100)
    plus, minus = [0.0, 0.0], [0.0, -tiny]
    query = np.array([[1.0, tiny], [-tiny, 0.0]], np.float32)
    orders = [[plus, minus], [minus, plus], [minus], [minus] * 13 + [plus], [plus] + [minus] * 40]
    documents = [np.array(rows, np.float32) for rows in orders]
    index = ms.Index.build(documents)
    cells = _core.cells(index.storage.snapshot.corpus, query, 1)
    assert cells.tobytes() == np.zeros((5, 2), np.float32).tobytes()
    for document, row in zip(documents, cells, strict=True):
        assert row.tobytes() == spec.cells(query, document).tobytes()
    hits = index.search(query, 5)
    for rank in range(5):
        similarities = np.array([match.similarity for match in hits.explain(rank)], np.float32)
        assert similarities.tobytes() == np.zeros(2, np.float32).tobytes()

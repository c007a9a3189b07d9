"""Tier 0 on every kernel: the specification's ids, bytes, proxies, places and answers, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from cases import check_rescoring
from maxsieve import _core, spec

F32 = np.ndarray


def a_corpus(rng: np.random.Generator, d: int, documents: int, longest: int) -> list[F32]:
    centres = rng.standard_normal((12, d))
    lengths = rng.integers(0, longest + 1, documents)
    return [
        (centres[rng.integers(0, 12, length)] + 0.3 * rng.standard_normal((length, d))).astype(np.float32)
        * np.float32(rng.choice([0.01, 1.0, 30.0]))
        for length in lengths
    ]


def native_codebook(documents: list[F32], d: int, centroids: int, seed: int, threads: int = 1) -> tuple:
    """What the engine learns, and the same in the form of the specification."""
    quantised = [spec.quantise_document(E) for E in documents if len(E)]
    codes = padded(np.concatenate([c.codes for c in quantised]), d)
    scale = np.concatenate([np.full(len(c.codes), c.scale, np.float32) for c in quantised])
    made = _core.train(d, codes, scale, centroids, seed, threads)
    heads, starts, book_codes, book_scale, length = made
    assert not heads[:, d:].any()
    assert not book_codes[:, d:].any()
    return _core.Codebook(d, *made), spec.Codebook(
        heads[:, :d], starts, book_codes[:, :d], np.float32(book_scale), length
    )


def padded(codes: np.ndarray, d: int) -> np.ndarray:
    out = np.zeros((len(codes), _core.code_stride(d)), np.int8)
    out[:, :d] = codes
    return out


def coded_corpus(documents: list[F32], d: int, native: _core.Codebook) -> _core.Corpus:
    """Two segments with centroids."""
    segments = []
    for some in (documents[: len(documents) // 2], documents[len(documents) // 2 :]):
        rows = np.concatenate([np.zeros((0, d), np.float32), *some])
        quantised = [spec.quantise_document(E) for E in some]
        offsets = np.concatenate([[0], np.cumsum([len(E) for E in some])]).astype(np.int64)
        codes = padded(np.concatenate([np.zeros((0, d), np.int8), *(c.codes for c in quantised)]), d)
        bounds = [np.array([getattr(c, name) for c in quantised], np.float32) for name in ("scale", "rho", "nu")]
        segments.append(_core.Segment(d, offsets, rows, codes, *bounds, _core.assign(native, codes, 1)))
    return _core.Corpus(d, tuple(segments), native)


@pytest.mark.parametrize("d", [1, 24, 33, 64, 96, 128, 200])
def test_tokens_have_the_centroids_of_the_specification(isa: str, d: int) -> None:
    rng = np.random.default_rng(d)
    documents = a_corpus(rng, d, 30, 40)
    native, book = native_codebook(documents, d, 256, seed=d)
    codes = np.concatenate([spec.quantise_document(E).codes for E in documents])
    wanted = spec.assign(book, codes)
    assert _core.assign(native, padded(codes, d), 1).tolist() == wanted.tolist()
    assert _core.assign(native, padded(codes, d), 3).tolist() == wanted.tolist()


def check_trace(trace: _core.Trace, Q: F32, documents: list[F32], proxies: np.ndarray, n: int) -> None:
    """Tier 0 of all candidates, and the certified policy on the survivors, by the specification."""
    survivors, stayed = spec.survivors(proxies, n), trace.dropped != -1
    assert trace.policy == "Calibrated"
    assert trace.tier0.tolist() == proxies[trace.shown].tolist()
    assert trace.shown[stayed].tolist() == survivors.tolist()
    strips = -(-len(Q) // 64)
    assert trace.bytes["tier 0"] == 2 * strips * sum(map(len, documents))
    if n <= 3:  # nothing to sieve
        assert trace.rounds == []
        assert trace.shown[trace.rescored].tolist() == survivors.tolist()
        return
    expected = spec.certified(Q, [documents[i] for i in survivors], 3)
    ((active, _, revealed, threshold, lower, upper),) = trace.rounds
    assert (active, revealed, threshold) == (n, len(Q), np.sort(expected.lower)[-3])
    assert lower[stayed].tobytes() == expected.lower.tobytes()
    assert upper[stayed].tobytes() == expected.upper.tobytes()
    assert np.isnan(lower[~stayed]).all()
    check_rescoring(trace, expected.rescoring, survivors)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 5, 16, 31, 32, 33, 64, 65, 100]), st.sampled_from([3, 32, 70]))
def test_proxies_places_and_answers_are_those_of_the_specification(seed: int, T: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    documents = a_corpus(rng, d, 14, 12)
    if not any(len(E) for E in documents):
        documents.append(rng.standard_normal((2, d)).astype(np.float32))
    native, book = native_codebook(documents, d, 16, seed)
    corpus = coded_corpus(documents, d, native)
    Q = rng.standard_normal((T, d)).astype(np.float32)
    proxies = spec.tier0_proxies(Q, documents, book)
    candidates = np.flatnonzero(proxies >= 0)
    order = spec.by_proxy(proxies)
    for name in ms.isas():
        _core.use_isa(name)
        try:
            for threads in (1, 2):
                assert _core.tier0(corpus, Q, candidates, threads).tolist() == proxies[candidates].tolist()
                wanted = np.sort(order[::2])
                places = _core.ranks(corpus, Q, candidates, wanted, threads)
                assert places.tolist() == spec.ranks_by_proxy(proxies, wanted.tolist()).tolist()
            for n in (1, 2, len(candidates) // 2 + 1):
                policy = _core.Calibrated(n, sum(map(len, documents)) / len(documents))
                (answer,) = _core.search(corpus, [Q], [candidates], 3, policy, 1, True)
                expected = spec.first_by_proxy(Q, documents, book, 3, n)
                if answer.survivors == n < len(candidates):
                    assert answer.positions == expected.positions
                    assert answer.scores.tobytes() == expected.scores.tobytes()
                    check_trace(answer.trace, Q, documents, proxies, n)
                else:  # so few that all of them are followed up
                    assert answer.guarantee == "exact"
                    assert answer.positions == spec.certified(Q, documents, 3).positions
        finally:
            _core.use_isa("")


def test_a_codebook_is_the_same_on_every_kernel_and_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    documents = a_corpus(rng, 40, 60, 30)
    made = []
    for name in ms.isas():
        _core.use_isa(name)
        try:
            made += [native_codebook(documents, 40, 64, 7, threads)[1] for threads in (1, 2, 5)]
        finally:
            _core.use_isa("")
    for other in made[1:]:
        for one, another in zip(made[0], other, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(another).tobytes()


@pytest.mark.parametrize("tokens", [1, 3, 17])
def test_a_codebook_may_have_more_centroids_than_there_are_tokens(tokens: int) -> None:
    document = np.random.default_rng(tokens).standard_normal((tokens, 8)).astype(np.float32)
    native, book = native_codebook([document], 8, 256, 0)
    codes = spec.quantise_document(document).codes
    assert _core.assign(native, padded(codes, 8), 2).tolist() == spec.assign(book, codes).tolist()
    assert np.isfinite(book.length).all()


def test_zero_vectors_have_centroids_and_proxies() -> None:
    documents = [np.zeros((3, 8), np.float32), np.ones((2, 8), np.float32)]
    native, book = native_codebook(documents, 8, 16, 0)
    corpus = coded_corpus(documents, 8, native)
    Q = np.zeros((2, 8), np.float32)
    assert _core.tier0(corpus, Q, np.arange(2), 1).tolist() == [0, 0]
    assert spec.tier0_proxies(Q, documents, book).tolist() == [0, 0]


def test_a_good_codebook_puts_each_document_of_a_query_first() -> None:
    rng = np.random.default_rng(5)
    documents = [E / np.linalg.norm(E, axis=1, keepdims=True) for E in rng.standard_normal((200, 20, 32))]
    documents = [E.astype(np.float32) for E in documents]
    native, _ = native_codebook(documents, 32, 1024, 0)
    corpus = coded_corpus(documents, 32, native)
    firsts = [
        int(_core.ranks(corpus, documents[i][:8], np.arange(200), np.array([i]), 1)[0]) for i in range(0, 200, 10)
    ]
    assert firsts == [1] * 20


BAD_BOOKS = {
    "centroids.*1,048,576": {"codes": np.zeros((3, 32), np.int8)},
    "group.*empty": {"starts": np.array([0, 0, 4])},
    "^groups": {"starts": np.array([0, 2, 5])},
    "one start for each group": {"starts": np.array([0, 4])},
    "one length": {"length": np.ones(3, np.float32)},
    "finite": {"length": np.array([1, np.nan, 1, 1], np.float32)},
    "^codes": {"codes": np.zeros((4, 64), np.int8)},
    "finite and not negative": {"scale": -1.0},
}


@pytest.mark.parametrize("problem", BAD_BOOKS)
def test_codebooks_that_make_no_sense_are_refused(problem: str) -> None:
    good = {
        "heads": np.zeros((2, 32), np.int8),
        "starts": np.array([0, 2, 4]),
        "codes": np.zeros((4, 32), np.int8),
        "scale": 1.0,
        "length": np.ones(4, np.float32),
    }
    _core.Codebook(8, **good)
    with pytest.raises(ValueError, match=problem):
        _core.Codebook(8, **(good | BAD_BOOKS[problem]))


def test_ids_beyond_the_codebook_read_no_foreign_memory() -> None:
    native, _ = native_codebook([np.eye(8, dtype=np.float32)], 8, 16, 0)
    one = np.zeros((2, 32), np.int8)
    bounds = [np.ones(1, np.float32)] * 3
    segment = _core.Segment(8, np.array([0, 2]), None, one, *bounds, np.array([65535, 17], np.uint16))
    corpus = _core.Corpus(8, (segment,), native)
    assert 0 <= _core.tier0(corpus, np.eye(8, dtype=np.float32), np.array([0]), 1)[0] <= 8 * 255

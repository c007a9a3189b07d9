"""Residual bits on every kernel: the specification's rotation, codes, rows, bounds and answers, bit by bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import maxsieve as ms
from long_form import sampled
from maxsieve import _core, spec
from maxsieve.policies import to_native
from maxsieve.spec import residual

F32 = np.ndarray
SHAPES = [(1, 1), (7, 2), (24, 4), (33, 1), (128, 1), (128, 2), (128, 4), (300, 2), (520, 1)]


def a_corpus(rng: np.random.Generator, d: int, documents: int, longest: int) -> list[F32]:
    """Documents around twelve centres, some with zero rows, some empty, with norms that differ."""
    centres = rng.standard_normal((12, d))
    made = []
    for length in rng.integers(0, longest + 1, documents):
        rows = centres[rng.integers(0, 12, length)] + 0.5 * rng.standard_normal((length, d))
        rows *= rng.choice([0.01, 1.0, 30.0])
        if length > 2:
            rows[1] *= 0.02
            rows[2] = 0
        made.append(rows.astype(np.float32))
    return made


def ingested(documents: list[F32], d: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Offsets and int8 blocks of the rotated space, from the engine."""
    offsets = np.concatenate([[0], np.cumsum([len(E) for E in documents])]).astype(np.int64)
    tokens = int(offsets[-1])
    blocks = {"codes": np.empty((tokens, _core.code_stride(d)), np.int8)}
    blocks |= {name: np.empty(len(documents), np.float32) for name in ("scale", "rho", "nu")}
    given = [E for E in documents if len(E)]
    assert _core.ingest(given, d, offsets, rows=None, **blocks, cosine=False, threads=2, rotated=True) == -1
    return offsets, blocks


class Residuals:
    """A corpus of residual bits as the engine makes it, in two segments, and what the specification makes of it."""

    def __init__(self, rng: np.random.Generator, d: int, bits: int, documents: int = 40, longest: int = 30) -> None:
        self.d, self.bits = d, bits
        self.documents = a_corpus(rng, d, documents, longest)
        offsets, blocks = ingested(self.documents, d)
        scale = np.repeat(blocks["scale"], np.diff(offsets))
        made = _core.train(d, blocks["codes"], scale, 256, 0, 1)
        self.native = _core.Codebook(d, *made)
        heads, starts, codes, book_scale, length = made
        self.book = spec.Codebook(heads[:, :d], starts, codes[:, :d], np.float32(book_scale), length)
        self.segments, self.coded, self.encoded = [], [], []
        for some in (self.documents[: documents // 3], self.documents[documents // 3 :]):
            self._add(some)
        self.corpus = _core.Corpus(d, tuple(self.segments), self.native)
        self.rows = [residual.decode(self.book, codes) for codes in self.coded]

    def _add(self, some: list[F32]) -> None:
        offsets, blocks = ingested(some, self.d)
        centroids = _core.assign(self.native, blocks["codes"], 1)
        source = _core.Segment(self.d, offsets, **blocks, centroids=centroids)
        names = ("levels", "factors", "scale", "nu")
        made = dict(zip(names, _core.encode_residual(self.native, source, self.bits, 2), strict=True))
        self.encoded.append((made, centroids))
        self.segments.append(
            _core.Segment(self.d, offsets, centroids=centroids, **made, bits=self.bits, codebook=self.native)
        )
        for i, (first, last) in enumerate(pairwise(offsets)):
            E = blocks["codes"][first:last, : self.d] * np.float32(blocks["scale"][i])
            self.coded.append(residual.encode(self.book, E, centroids[first:last].astype(np.int64), self.bits))


def levels_of(stored: np.ndarray, d: int, bits: int) -> np.ndarray:
    """Levels from their bytes, as docs/format.md describes them."""
    if bits == 4:
        halves = np.stack([stored & 15, stored >> 4], axis=-1).reshape(len(stored), -1)
        return 2 * halves[:, :d].astype(np.int64) - 15
    planes = np.unpackbits(stored.reshape(len(stored), bits, -1), axis=-1, bitorder="little")[..., :d].astype(np.int64)
    return sum((2 * planes[:, p] - 1) << (bits - 1 - p) for p in range(bits))


@pytest.mark.parametrize("d", [1, 2, 3, 31, 64, 96, 100, 128, 384, 1000])
def test_rotation_is_that_of_the_specification(d: int) -> None:
    rows = np.random.default_rng(d).standard_normal((9, d)).astype(np.float32)
    turned = rows.copy()
    _core.rotate(turned)
    assert turned.tobytes() == spec.rotate(rows).tobytes()
    _core.rotate(turned, back=True)
    assert turned.tobytes() == spec.unrotate(spec.rotate(rows)).tobytes()
    assert np.allclose(turned, rows, atol=1e-5)


@pytest.mark.parametrize(("d", "bits"), SHAPES)
def test_codes_and_rows_are_those_of_the_specification(isa: str, d: int, bits: int) -> None:
    made = Residuals(np.random.default_rng(d), d, bits)
    at = 0
    for segment, (blocks, _) in zip(made.segments, made.encoded, strict=True):
        levels, start = levels_of(blocks["levels"], d, bits), 0
        for i in range(len(blocks["scale"])):
            codes, rows = made.coded[at], made.rows[at]
            length = len(codes.levels)
            assert levels[start : start + length].tolist() == codes.levels.tolist()
            assert blocks["factors"][start : start + length].tolist() == codes.factors.tolist()
            assert (blocks["scale"][i], blocks["nu"][i]) == (codes.scale, codes.nu)
            assert _core.decode_residual(segment, i).tobytes() == rows.tobytes()
            start, at = start + length, at + 1
    assert at == len(made.documents)


@pytest.mark.parametrize(("d", "bits", "tokens"), sampled((*shape, T) for shape in SHAPES for T in (1, 16, 17, 33, 70)))
def test_bounds_and_answers_are_those_of_the_specification(isa: str, d: int, bits: int, tokens: int) -> None:
    rng = np.random.default_rng(tokens)
    made = Residuals(rng, d, bits, documents=24, longest=14 if tokens < 40 else 40)
    Q = spec.rotate(rng.standard_normal((tokens, d)).astype(np.float32))
    full = np.array([i for i, E in enumerate(made.documents) if len(E)])
    P, eps = residual.proxies_and_errors(made.book, spec.quantise_query(Q), made.coded, bits)
    scores = spec.scores(Q, made.rows)
    assert (P - eps <= scores)[full].all()
    assert (scores <= P + eps)[full].all()
    lower, upper = _core.bounds(made.corpus, Q, 2)
    assert lower[full].tolist() == (P - eps)[full].tolist()
    assert upper[full].tolist() == (P + eps)[full].tolist()
    assert _core.score(made.corpus, [Q], 2)[0].tolist() == scores.tolist()
    wanted = spec.top_k(scores, 5)
    for policy in (_core.Certified(), _core.Exhaustive()):
        (answer,) = _core.search(made.corpus, [Q], [full], 5, policy, 2, False)
        assert answer.positions == wanted
        assert answer.scores.tolist() == scores[wanted].tolist()
        assert answer.guarantee == "exact"


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_every_policy_is_the_same_on_every_kernel_and_any_number_of_threads(isa: str, bits: int) -> None:
    """Also for few candidates, whose tables are made for their own tokens alone."""
    rng = np.random.default_rng(bits)
    made = Residuals(rng, 48, bits, documents=300, longest=12)
    queries = [spec.rotate(rng.standard_normal((T, 48)).astype(np.float32)) for T in (3, 20, 40)]
    full = np.array([i for i, E in enumerate(made.documents) if len(E)])
    for candidates in (full, full[::9]):
        for Q in queries:
            truth = spec.scores(Q, [made.rows[i] for i in candidates])
            wanted = [int(candidates[i]) for i in spec.top_k(truth, 4)]
            for policy in (ms.Bandit(alpha=1.0, radius="serfling"), ms.Bandit(alpha=0.2), ms.Certified()):
                found = [
                    _core.search(made.corpus, [Q], [candidates], 4, to_native(policy), threads, False)[0]
                    for threads in (1, 3)
                ]
                assert found[0].positions == found[1].positions
                assert found[0].rounds == found[1].rounds
                if found[0].guarantee == "exact":
                    assert found[0].positions == wanted
    together = _core.search(made.corpus, queries, [full] * 3, 4, _core.Certified(), 2, False)
    alone = [_core.search(made.corpus, [Q], [full], 4, _core.Certified(), 1, False)[0] for Q in queries]
    assert [a.positions for a in together] == [a.positions for a in alone]
    assert [a.rescored for a in together] == [a.rescored for a in alone]


def test_tier0_reads_the_centroids_of_the_store(isa: str) -> None:
    made = Residuals(np.random.default_rng(1), 64, 1, documents=60)
    Q = spec.rotate(np.random.default_rng(2).standard_normal((9, 64)).astype(np.float32))
    full = np.array([i for i, E in enumerate(made.documents) if len(E)])
    table = spec.similarity_table(made.book, spec.quantise_query(Q))
    wanted = spec.lookup_proxies(table, [made.coded[i].centroids for i in full])
    assert _core.tier0(made.corpus, Q, full, 1).tolist() == wanted.tolist()


def test_explain_and_trace_read_the_stored_rows(isa: str) -> None:
    made = Residuals(np.random.default_rng(3), 40, 2, documents=30)
    Q = spec.rotate(np.random.default_rng(4).standard_normal((6, 40)).astype(np.float32))
    full = np.array([i for i, E in enumerate(made.documents) if len(E)])
    tokens, similarities = _core.explain(made.corpus, Q, int(full[0]))
    table = spec.similarities(Q, made.rows[full[0]])
    assert tokens.tolist() == table.argmax(axis=1).tolist()
    assert similarities.tolist() == table.max(axis=1).tolist()
    (answer,) = _core.search(made.corpus, [Q], [full], 3, _core.Certified(), 1, True)
    assert answer.trace.bytes["scan"] == sum(len(made.documents[i]) for i in full) * (2 * 5 + 4)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_forged_codes_give_the_same_bounds_on_every_kernel(isa: str, bits: int) -> None:
    """Any bytes, and ids of centroids that do not exist, are read as some row: within bounds, and alike everywhere."""
    rng = np.random.default_rng(bits)
    made = Residuals(rng, 72, bits, documents=12)
    Q = spec.rotate(rng.standard_normal((18, 72)).astype(np.float32))
    offsets = np.array([0, 3, 40], np.int64)
    for fill in (0, 255, None):

        def some(*shape: int, fill: int | None = fill) -> np.ndarray:
            numbers = rng.integers(0, 256, shape) if fill is None else np.full(shape, fill)
            return numbers.astype(np.uint8)

        levels, factors = some(40, _core.level_bytes(72, bits)), some(40, 2)
        centroids = rng.integers(0, 65536, 40).astype(np.uint16)
        bounds = np.array([2.0, 0.5], np.float32), np.array([9.0, 9.0], np.float32)
        segment = _core.Segment(
            72, offsets, centroids=centroids, levels=levels, factors=factors, scale=bounds[0], nu=bounds[1], bits=bits,
            codebook=made.native,
        )  # fmt: skip
        planes = levels_of(levels, 72, bits).astype(np.int8)
        ids = (centroids & 255).astype(np.int64)
        codes = [
            residual.ResidualCodes(bits, ids[a:b], planes[a:b], factors[a:b], bounds[0][i], bounds[1][i])
            for i, (a, b) in enumerate(((0, 3), (3, 40)))
        ]
        P, eps = residual.proxies_and_errors(made.book, spec.quantise_query(Q), codes, bits)
        corpus = _core.Corpus(72, (segment,), made.native)
        assert _core.bounds(corpus, Q, 1)[0].tolist() == (P - eps).tolist()
        assert _core.decode_residual(segment, 1).tobytes() == residual.decode(made.book, codes[1]).tobytes()


@pytest.mark.parametrize(("d", "bits"), [(4096, 1), (4096, 2), (2048, 4), (130, 2), (16, 1)])
def test_the_largest_sums_do_not_overflow(isa: str, d: int, bits: int) -> None:
    """Codes of a query, levels, factors and centroids are as large as they can be."""
    rng = np.random.default_rng(d)
    codes = np.zeros((2, _core.code_stride(d)), np.int8)
    codes[0, :d], codes[1, :d] = 127, -127
    heads, starts, length, scale = codes[:1], np.array([0, 2]), np.ones(2, np.float32), np.float32(1.99 / 127 / d**0.5)
    native = _core.Codebook(d, heads, starts, codes, float(scale), length)
    book = spec.Codebook(heads[:, :d], starts, codes[:, :d], scale, length)
    Q = np.concatenate([[np.ones(d), -np.ones(d)], rng.choice([-1.0, 1.0], (15, d))]).astype(np.float32)
    levels = rng.integers(0, 256, (150, _core.level_bytes(d, bits))).astype(np.uint8)
    levels[:70], levels[70:80] = 255, 0
    factors, centroids = np.full((150, 2), 255, np.uint8), np.arange(150).astype(np.uint16) % 2
    bounds = np.ones(2, np.float32), np.full(2, 9, np.float32)
    offsets = np.array([0, 75, 150], np.int64)
    segment = _core.Segment(
        d, offsets, centroids=centroids, levels=levels, factors=factors, scale=bounds[0], nu=bounds[1], bits=bits,
        codebook=native,
    )  # fmt: skip
    planes = levels_of(levels, d, bits).astype(np.int8)
    coded = [
        residual.ResidualCodes(bits, centroids[a:b].astype(np.int64), planes[a:b], factors[a:b], *np.float32([1, 9]))
        for a, b in pairwise(offsets)
    ]
    P, eps = residual.proxies_and_errors(book, spec.quantise_query(Q), coded, bits)
    found = _core.bounds(_core.Corpus(d, (segment,), native), Q, 1)
    assert found[0].tolist() == (P - eps).tolist()
    assert found[1].tolist() == (P + eps).tolist()


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("isa", ["avx2", "avx512vnni"])
def test_kernels_of_the_same_name_are_the_same(isa: str, bits: int) -> None:
    """A machine with AVX-VNNI or AVX-512 VBMI never chooses these kernels."""
    if isa not in ms.isas():
        pytest.skip(f"this machine has no {isa}")
    rng = np.random.default_rng(bits)
    made = Residuals(rng, 100, bits, documents=30, longest=40)
    for tokens in (3, 32, 50):
        Q = spec.rotate(rng.standard_normal((tokens, 100)).astype(np.float32))
        found = []
        for name in ("scalar", f"{isa}-plain"):
            _core.use_isa(name)
            found.append(_core.bounds(made.corpus, Q, 1)[0].tolist())
        _core.use_isa("")
        assert found[0] == found[1]


def test_arrays_of_wrong_shapes_are_refused() -> None:
    made = Residuals(np.random.default_rng(0), 32, 1, documents=6)
    (blocks, centroids), *_ = made.encoded
    offsets = np.array([0, len(centroids)], np.int64)
    whole = {"centroids": centroids, **blocks, "scale": blocks["scale"][:1], "nu": blocks["nu"][:1]}
    good = whole | {"bits": 1, "codebook": made.native}
    _core.Segment(32, offsets, **good)
    for wrong in (
        {"bits": 3}, {"bits": 2}, {"codebook": None}, {"centroids": None}, {"factors": None},
        {"levels": blocks["levels"][:-1]}, {"scale": None}, {"nu": blocks["nu"][:0]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            _core.Segment(32, offsets, **(good | wrong))
    long = _core.Codebook(
        32, made.book.heads, made.book.starts, made.book.codes, float(made.book.scale) * 3, made.book.length
    )
    with pytest.raises(ValueError, match="longer than 2"):
        _core.Segment(32, offsets, **(good | {"codebook": long}))

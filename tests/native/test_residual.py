"""Residual bits on every kernel: the specification's rotation, codes, rows, bounds and answers, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import _core, spec
from maxsieve.spec import residual

F32 = np.ndarray
SHAPES = [(1, 1), (7, 2), (24, 4), (33, 1), (96, 2), (128, 1), (128, 2), (128, 4), (200, 1), (300, 2), (520, 1), (384, 4)]


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
        for i, (first, last) in enumerate(zip(offsets, offsets[1:], strict=False)):
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


@pytest.mark.parametrize(("d", "bits"), SHAPES)
@pytest.mark.parametrize("tokens", [1, 5, 16, 17, 32, 33, 70])
def test_bounds_and_answers_are_those_of_the_specification(isa: str, d: int, bits: int, tokens: int) -> None:
    rng = np.random.default_rng(tokens)
    made = Residuals(rng, d, bits)
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

"""Native `Bandit` equals the specification round by round: active sets, coverage, thresholds, hits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import maxsieve as ms
from cases import check_rescoring
from long_form import sampled, scaled
from maxsieve import _core, spec
from maxsieve.policies import to_native

ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
BLOCKS = (1, 3, 4, 16, 64)
MARGINS = (0, 5, 10)
SIZES = (1, 5, 100, None)


def collection(seed: int, count: int = 130, d: int = 12, tokens: int = 21) -> tuple[np.ndarray, list[np.ndarray]]:
    """A query made of noisy tokens of one document, so that documents are dropped; a few documents are empty."""
    rng = np.random.default_rng(seed)
    documents = []
    for i in range(count):
        rows = rng.standard_normal((int(rng.integers(1, 9)) if i % 17 else 0, d))
        documents.append((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))
    chosen = documents[40][rng.integers(0, len(documents[40]), tokens)]
    return (chosen + 0.1 * rng.standard_normal((tokens, d))).astype(np.float32), documents


def native_trace(
    index: ms.Index, query: np.ndarray, k: int, policy: ms.Bandit, threads: int
) -> tuple[_core.Answer, np.ndarray]:
    snapshot = index.storage.snapshot
    native = to_native(policy)
    (answer,) = _core.search(snapshot.corpus, [query], [snapshot.searchable], k, native, threads, True)
    return answer, snapshot.searchable


def check_rounds(index: ms.Index, query: np.ndarray, documents: list, k: int, policy: ms.Bandit, threads: int) -> int:
    expected = spec.bandit(query, documents, k, **vars(policy))
    answer, candidates = native_trace(index, query, k, policy, threads)
    trace = answer.trace
    dropped = trace.dropped
    assert (trace.policy, trace.k, trace.documents) == ("Bandit", k, len(candidates))
    assert trace.tokens.tolist() == spec.permutation(len(query), policy.seed).tolist()
    assert answer.positions == expected.positions
    assert answer.scores.tobytes() == expected.scores.tobytes()
    assert answer.guarantee == expected.guarantee
    assert (answer.coverage, answer.rescored) == (expected.coverage, expected.rescored)
    assert len(answer.rounds) == len(expected.rounds)
    for number, (native, spelled) in enumerate(zip(answer.rounds, expected.rounds, strict=True), 1):
        active = candidates[(dropped == 0) | (dropped >= number)]
        assert active.tolist() == spelled.active.tolist()
        assert native == (len(spelled.active), spelled.revealed, spelled.threshold)
        active_then, gone, *traced, lower, upper = trace.rounds[number - 1]
        assert (active_then, *traced) == native
        assert gone == (dropped == number).sum()
        was_active = np.isin(candidates, spelled.active)
        assert np.isnan(lower[~was_active]).all()
        assert np.isnan(upper[~was_active]).all()
        assert lower[was_active].tobytes() == spelled.lower.tobytes()
        assert upper[was_active].tobytes() == spelled.upper.tobytes()
    assert candidates[dropped == 0].tolist() == expected.survivors.tolist()
    check_rescoring(trace, expected.rescoring, expected.survivors)
    return int((dropped > 0).sum())


@pytest.mark.parametrize("radius", ["paper", "serfling"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_every_knob(alpha: float, radius: str, isa: str) -> None:
    query, documents = collection(seed=int(alpha * 100))
    index = ms.Index.build(documents)
    dropped = 0
    for block, margin, size in sampled(itertools.product(BLOCKS, MARGINS, SIZES)):
        policy = ms.Bandit(alpha=alpha, block=block, margin=margin, seed=block + margin, radius=radius)
        dropped += check_rounds(index, query, documents, size or len(documents), policy, 2)
    assert dropped > 0


@pytest.mark.parametrize("chunk", range(4))
def test_random_collections(chunk: int, isa: str) -> None:
    for seed in range(chunk, scaled(40), 4):
        rng = np.random.default_rng(seed)
        query, documents = collection(
            seed, int(rng.integers(50, 90)), int(rng.integers(2, 40)), int(rng.integers(1, 50))
        )
        policy = ms.Bandit(
            alpha=float(rng.choice(ALPHAS)),
            delta=float(rng.choice([1e-300, 0.01, 0.5, 0.999])),
            block=int(rng.choice(BLOCKS)),
            margin=int(rng.choice(MARGINS)),
            seed=int(rng.integers(0, 2**64, dtype=np.uint64)),
            radius=str(rng.choice(["paper", "serfling"])),
        )
        check_rounds(ms.Index.build(documents), query, documents, int(rng.choice([1, 5, 20])), policy, 1)


def test_the_last_drop_is_certain(isa: str) -> None:
    """If all tokens are revealed in one round, only the proxies' error is left, and it must not decide."""
    rng = np.random.default_rng(3)
    policy = ms.Bandit(alpha=0.01, margin=0, block=64)
    for _ in range(scaled(50)):
        base = rng.standard_normal(24)
        documents = [(base + 1e-3 * rng.standard_normal((2, 24))).astype(np.float32) for _ in range(40)]
        query = (base + 0.1 * rng.standard_normal((6, 24))).astype(np.float32)
        hits = ms.rerank(query, documents, 5, policy=policy)
        assert hits.ids == ms.rerank(query, documents, 5, policy=ms.Exhaustive()).ids
        assert hits.report.guarantee == "exact"


def matrix_collection(H: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Documents and a query whose MaxSim matrix is H: one token each, and the unit vectors as query tokens."""
    return np.eye(H.shape[1], dtype=np.float32), [row[None].astype(np.float32) for row in H]


def test_honest_radius_where_it_binds(isa: str) -> None:
    """T = 2,048 unit vectors in a plane: the radius drops documents that hard bounds would keep; the truth stays."""
    rng = np.random.default_rng(11)
    missed = 0
    cases = scaled(20)
    policy = ms.Bandit(alpha=1, delta=0.05, margin=0, block=128, radius="serfling")
    for _ in range(cases):
        angles = np.concatenate([0.2 * rng.standard_normal(2048), [0.1, 1.4, 1.6, 2.5]])
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        query, documents = vectors[:2048], [row[None] for row in vectors[2048:]]
        hits = ms.Index.build(documents).search(query, 1, policy=policy)
        assert hits.report.guarantee == "pac"
        assert hits.report.coverage < 0.9
        missed += hits.ids != ms.rerank(query, documents, 1, policy=ms.Exhaustive()).ids
    assert missed <= 0.05 * cases


def test_paper_radius_misses_where_the_honest_one_does_not(isa: str) -> None:
    """The best document's first cells are often all equal: sigma is 0, and so is the published radius."""
    tokens, rare = 64, 6
    H = np.full((12, tokens), 0.05)
    H[3] = 0.0
    H[3, :rare] = 1.0
    query, documents = matrix_collection(H)
    index = ms.Index.build(documents)
    missed = {"paper": 0, "serfling": 0}
    for seed in range(200):
        for radius in missed:
            policy = ms.Bandit(alpha=1, delta=0.01, margin=0, seed=seed, radius=radius)
            missed[radius] += index.search(query, 1, policy=policy).ids != [3]
    assert missed["paper"] > 100
    assert missed["serfling"] == 0

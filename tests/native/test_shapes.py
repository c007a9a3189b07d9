"""Every ISA gives the same bits on every path of the kernels: all query sizes, all paddings of d, short and long."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import _core, spec

DIMS = [1, 3, 31, 32, 33, 63, 64, 65, 96, 128, 130, 256, 384, 768, 1024, 4096]
TOKENS = [*range(1, 18), 24, 25, 31, 32, 33, 36, 40, 63, 128, 512]


def answers(documents: list[np.ndarray], query: np.ndarray) -> list[tuple[object, ...]]:
    """Everything that must be equal on two ISAs."""
    index = ms.Index.build(documents)
    found: list[tuple[object, ...]] = []
    for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0), ms.Bandit(block=5, alpha=1, margin=0)):
        hits = index.search(query, 3, policy=policy)
        report = hits.report
        found.append(
            (hits.ids, hits.scores.tobytes(), report.guarantee, report.coverage, report.rescored, report.rounds)
        )
    lower, upper = _core.bounds(index.storage.snapshot.corpus, query, 1)
    return [*found, (lower.tobytes(), upper.tobytes())]


def agree(d: int, tokens: int, lengths: list[int]) -> None:
    rng = np.random.default_rng([d, tokens])
    documents = [rng.standard_normal((length, d)).astype(np.float32) for length in lengths]
    query = rng.standard_normal((tokens, d)).astype(np.float32)
    expected = None
    for isa in reversed(ms.isas()):
        _core.use_isa(isa)
        found = answers(documents, query)
        expected = expected or found
        assert found == expected, isa
    _core.use_isa("")


@pytest.mark.parametrize("d", DIMS)
def test_every_dimension(d: int) -> None:
    for tokens in (1, 4, 32):
        agree(d, tokens, [1, 2, 3, 7, 8, 9, 13, 16, 17, 33])


@pytest.mark.parametrize("tokens", TOKENS)
def test_every_query_length(tokens: int) -> None:
    for d in (31, 128):
        agree(d, tokens, [1, 5, 8, 11, 12, 13, 16, 25, 50])


@pytest.mark.parametrize("d", [1, 31, 32, 33, 64, 96, 128, 256, 384, 768, 1024])
def test_every_document_length(d: int) -> None:
    """Proxies of documents of 1 to 70 tokens, which end at any place in a kernel's blocks of rows."""
    rng = np.random.default_rng(d)
    corpus = ms.Index.build([rng.standard_normal((length, d)) for length in range(1, 71)]).storage.snapshot.corpus
    for tokens in (*range(1, 10), 31, 32, 33, 64, 128, 512):
        query = rng.standard_normal((tokens, d)).astype(np.float32)
        expected = None
        for isa in reversed(ms.isas()):
            _core.use_isa(isa)
            found = [bound.tobytes() for bound in _core.bounds(corpus, query, 1)]
            expected = expected or found
            assert found == expected, (isa, tokens)
    _core.use_isa("")


def test_longest_query_and_dimension() -> None:
    agree(4096, 33, [1, 2])
    agree(2, 4096, [1, 3, 12])


def test_long_documents_are_cut_into_pieces(isa: str) -> None:
    """A document of 100,000 tokens, whose best tokens are the first and the last, next to short ones."""
    rng = np.random.default_rng(5)
    long = rng.uniform(-1, 0, (100_000, 8)).astype(np.float32)
    long[0], long[-1] = np.eye(8)[0] * 3, np.eye(8)[1] * 3
    documents = [long, *(rng.standard_normal((4, 8)).astype(np.float32) for _ in range(5))]
    query = np.eye(8, dtype=np.float32)[:2]
    index = ms.Index.build(documents)
    for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0, block=1)):
        hits = index.search(query, 1, policy=policy)
        assert list(hits) == [(0, 6.0)]
        assert [match.document_token for match in hits.explain(0)] == [0, 99_999]


def test_long_query_against_specification(isa: str) -> None:
    rng = np.random.default_rng(6)
    documents = [rng.standard_normal((n, 24)).astype(np.float32) for n in (1, 4, 9)]
    query = rng.standard_normal((600, 24)).astype(np.float32)
    S = spec.scores(query, documents)
    assert ms.maxsim(query, documents).tobytes() == S.tobytes()

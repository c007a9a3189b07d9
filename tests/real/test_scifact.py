"""SciFact with real token vectors: the certified answer is the exhaustive one, with every kernel of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from benchmarks.vectors.real import RealVectors, load

pytestmark = pytest.mark.full
DOCUMENTS, QUERIES, DEPTHS = 300, 25, (5, 10, 100)


@pytest.fixture(scope="module")
def vectors(corpora: Path) -> RealVectors:
    return load(corpora / "scifact", documents=DOCUMENTS, queries=QUERIES)


@pytest.fixture(scope="module")
def index(vectors: RealVectors) -> ms.Index:
    return ms.Index.build(vectors.doc_rows, vectors.doc_ids, lengths=vectors.doc_lengths)


@pytest.fixture(scope="module")
def truth(vectors: RealVectors, index: ms.Index) -> list[ms.Hits]:
    """The exhaustive answer to each query, by the fastest kernel. Answers for smaller K are its first hits."""
    return index.search_many(vectors.queries, max(DEPTHS), policy=ms.Exhaustive())


def test_the_vectors_are_what_they_should_be(vectors: RealVectors) -> None:
    assert len(vectors.doc_ids) == len(vectors.doc_lengths) == DOCUMENTS
    assert len(vectors.query_ids) == len(vectors.queries) == QUERIES
    assert vectors.doc_rows.shape == (vectors.doc_lengths.sum(), 128)
    for rows in (vectors.doc_rows, *vectors.queries):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_relevant_documents_are_found(vectors: RealVectors, index: ms.Index, corpora: Path) -> None:
    judgements = [line.split("\t") for line in (corpora / "scifact" / "qrels.tsv").read_text().splitlines()[1:]]
    relevant = {(query, document) for query, document, score in judgements if float(score) > 0}
    found = 0
    for query_id, query in zip(vectors.query_ids, vectors.queries, strict=True):
        found += any((query_id, document) in relevant for document in index.search(query, 10).ids)
    assert found > 0.8 * QUERIES


def test_certified_is_exhaustive(vectors: RealVectors, index: ms.Index, truth: list[ms.Hits], isa: str) -> None:
    rescored = {k: [] for k in DEPTHS}
    for query_id, query, best in zip(vectors.query_ids, vectors.queries, truth, strict=True):
        for k in DEPTHS:
            hits = index.search(query, k, policy=ms.Certified())
            assert hits.report.isa == isa
            assert hits.ids == best.ids[:k], f"query {query_id}, K = {k}"
            assert hits.scores.tobytes() == best.scores[:k].tobytes(), f"query {query_id}, K = {k}"
            assert hits.report.guarantee == "exact"
            assert k <= hits.report.rescored <= DOCUMENTS
            rescored[k].append(hits.report.rescored)
    assert np.mean(rescored[5]) < DOCUMENTS / 10
    assert np.mean(rescored[5]) <= np.mean(rescored[10]) <= np.mean(rescored[100])


def test_exhaustive_is_the_same_under_every_kernel(
    vectors: RealVectors, index: ms.Index, truth: list[ms.Hits], isa: str
) -> None:
    for query, best in zip(vectors.queries[:3], truth, strict=False):  # few: the scalar kernel is slow
        hits = index.search(query, max(DEPTHS), policy=ms.Exhaustive())
        assert (hits.report.isa, hits.report.guarantee) == (isa, "exact")
        assert hits.ids == best.ids
        assert hits.scores.tobytes() == best.scores.tobytes()


def test_reports_are_the_same_under_every_kernel(
    vectors: RealVectors, index: ms.Index, use_isa: Callable[[str], None]
) -> None:
    reports = {}
    for isa in ms.isas():
        use_isa(isa)
        many = [hits.report for hits in index.search_many(vectors.queries, 5)]
        reports[isa] = [(report.guarantee, report.coverage, report.rescored, report.rounds) for report in many]
    assert all(report == reports[ms.isas()[0]] for report in reports.values())

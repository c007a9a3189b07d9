"""Real ColBERTv2 and ColPali vectors: the engine against the specification, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import spec

pytestmark = pytest.mark.full


class Vectors(NamedTuple):
    documents: list[np.ndarray]
    ids: list[str]
    queries: list[np.ndarray]


@pytest.fixture(scope="module")
def vectors(corpora: Path) -> Vectors:
    """35 ColBERTv2 documents, and 5 ColBERTv2 queries with one of ColPali."""
    folder = corpora.parent / "embeddings"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder.name} folder beside MAXSIEVE_CORPORA")
    with np.load(folder / "colbertv2_nanofiqa.npz") as stored:
        documents = np.split(stored["doc_tokens"], np.cumsum(stored["doc_lengths"])[:-1])
        queries = np.split(stored["query_tokens"], np.cumsum(stored["query_lengths"])[:-1])
        ids = stored["doc_ids"].tolist()
    return Vectors(documents, ids, [*queries, np.load(folder / "colpali_query.npy")])


@pytest.fixture(scope="module")
def truth(vectors: Vectors) -> list[np.ndarray]:
    """The canonical scores of all documents, by the specification, for each query."""
    return [spec.scores(query, vectors.documents) for query in vectors.queries]


@pytest.fixture(scope="module")
def index(vectors: Vectors) -> ms.Index:
    return ms.Index.build(vectors.documents, vectors.ids)


def test_exhaustive_scores_are_the_specifications(
    vectors: Vectors, truth: list[np.ndarray], index: ms.Index, isa: str
) -> None:
    for query, scores in zip(vectors.queries, truth, strict=True):
        hits = index.search(query, len(index), policy=ms.Exhaustive())
        best = spec.top_k(scores, len(index))
        assert hits.ids == [vectors.ids[i] for i in best]
        assert hits.scores.tobytes() == scores[best].tobytes()
        assert ms.maxsim([query], vectors.documents)[0].tobytes() == scores.tobytes()


@pytest.mark.parametrize("k", [1, 5, 10, 100])
def test_certified_is_the_specifications(
    vectors: Vectors, truth: list[np.ndarray], index: ms.Index, isa: str, k: int
) -> None:
    for query, scores in zip(vectors.queries, truth, strict=True):
        hits = index.search(query, k, policy=ms.Certified())
        best = spec.top_k(scores, k)
        assert hits.report.isa == isa
        assert hits.ids == [vectors.ids[i] for i in best]
        assert hits.scores.tobytes() == scores[best].tobytes()
        assert hits.report.guarantee == "exact"
        assert hits.report.rescored == spec.certified(query, vectors.documents, k).rescored


def test_the_error_bound_holds(vectors: Vectors, truth: list[np.ndarray]) -> None:
    for query, scores in zip(vectors.queries, truth, strict=True):
        proxies, errors = spec.proxies_and_errors(query, vectors.documents)
        assert (np.abs(scores - proxies) <= errors).all()
        assert (errors < 0.05 * len(query)).all()  # and it is useful: a few hundredths per query token

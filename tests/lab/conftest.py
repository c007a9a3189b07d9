"""A corpus small enough to run every experiment on: structured random vectors in an ``.npz`` file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.vectors.structured import Structured
from lab.support import save_vectors
from maxsieve.lab.dataset import Dataset

DOCUMENTS = 150
QUERIES = 8
QUERY_TOKENS = 12
DIMENSIONS = 24


@pytest.fixture(scope="session")
def tiny_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 documents of some 20 tokens, 24 dimensions; 8 queries of 12 tokens, each relevant to the one it is made of.

    One document is empty; another must not be found by the first query, although it is made of it.
    """
    corpus = Structured(DOCUMENTS, DIMENSIONS, mean_length=20, seed=7)
    documents = list(corpus.documents())
    documents[DOCUMENTS - 1] = documents[0][:0]
    queries = corpus.queries(QUERIES, QUERY_TOKENS)
    sources = [corpus.source(number) for number in range(QUERIES)]
    path = tmp_path_factory.mktemp("tiny") / "tiny.npz"
    save_vectors(path, documents, queries)
    judgements = {f"q{number}": {f"d{source}": 2} for number, source in enumerate(sources)}
    path.with_suffix(".qrels.json").write_text(json.dumps(judgements), encoding="utf-8")
    path.with_suffix(".exclusions.json").write_text(json.dumps({"q0": [f"d{sources[0]}"]}), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tiny_dataset(tiny_vectors: Path) -> Dataset:
    """Those vectors as experiments take them."""
    return Dataset.of(tiny_vectors)

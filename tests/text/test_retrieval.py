"""On judged text, late interaction with the built-in model finds more than BM25 does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from maxsieve.text import BM25, Collection, Encoder

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import beir
import retrieval


@pytest.fixture(scope="module")
def corpus() -> Path:
    folder = os.environ.get("MAXSIEVE_CORPORA")
    if not folder:
        pytest.skip("MAXSIEVE_CORPORA is not set: no judged text to test with")
    return Path(folder, "hotpotqa_1k")


@pytest.mark.filterwarnings("ignore::maxsieve.text.TruncationWarning")
def test_late_interaction_is_ahead_of_bm25(minilm: Encoder, corpus: Path, tmp_path: Path) -> None:
    judged = beir.read(corpus, documents=400, queries=50)
    collection = Collection.create(tmp_path / "c", minilm)
    collection.add(judged.documents.values(), judged.documents)
    bm25 = BM25.of(collection)
    lexical = retrieval.ndcg(corpus, retrieval.ranked_by_bm25(bm25, judged.queries))
    late = retrieval.ndcg(corpus, retrieval.searched(collection, judged.queries, None, 100))
    staged = retrieval.ndcg(corpus, retrieval.searched(collection, judged.queries, bm25, 100))
    assert lexical == pytest.approx(0.789, abs=0.005), "bm25s and the judgements: nothing here depends on the machine"
    assert late > lexical + 0.015
    assert staged > lexical + 0.015


def test_ndcg_is_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t1\nr\tc\t1\n")
    assert retrieval.ndcg(tmp_path, {"q": [("a", 3.0), ("b", 2.0)]}) == pytest.approx(1)
    assert retrieval.ndcg(tmp_path, {"q": [("a", 3.0), ("x", 2.0)]}) == pytest.approx(1 / (1 + 0.6309), abs=1e-4)
    assert retrieval.ndcg(tmp_path, {"q": [("a", 3.0), ("b", 2.0)], "r": []}) == pytest.approx(0.5), (
        "no hit counts as 0"
    )

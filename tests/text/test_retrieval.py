"""On judged texts, the built-in model finds more than BM25, and both together find more than either."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maxsieve.lab.corpora import Corpus, read_corpus
from maxsieve.lab.metrics.quality import quality, ranked
from maxsieve.text import Collection, Encoder

DOCUMENTS, QUERIES = 400, 50


@pytest.fixture(scope="module")
def part() -> Corpus:
    """The first queries of hotpotqa_1k and the documents judged relevant to them, filled up in file order."""
    folder = os.environ.get("MAXSIEVE_CORPORA")
    if not folder:
        pytest.skip("MAXSIEVE_CORPORA is not set: no judged text to test with")
    whole = read_corpus(Path(folder, "hotpotqa_1k")).first(QUERIES)
    relevant = {one for query in whole.queries for one in whole.judgements[query]}
    others = [one for one in whole.documents if one not in relevant][: DOCUMENTS - len(relevant)]
    chosen = relevant.union(others)
    documents = {one: text for one, text in whole.documents.items() if one in chosen}
    judgements = {query: whole.judgements[query] for query in whole.queries}
    return replace(whole, documents=documents, judgements=judgements)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::maxsieve.text.TruncationWarning")
def test_late_interaction_is_ahead_of_bm25_and_both_of_either(minilm: Encoder, part: Corpus, tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", minilm)
    collection.add(part.documents.values(), part.documents)
    bm25 = collection.bm25
    lexical = ndcg(part, [bm25(text, 10) for text in part.queries.values()])
    late, staged, fused = (
        ndcg(part, [hits.ids for hits in collection.search_many(part.queries.values(), 10, **options)])
        for options in ({}, {"first_stage": bm25}, {"hybrid": 0.3})
    )
    assert lexical == pytest.approx(0.821, abs=0.005), "stemmed BM25 and the judgements: nothing depends on the machine"
    assert late > lexical + 0.005
    assert staged > lexical + 0.005
    assert fused > late + 0.005


def ndcg(part: Corpus, answers: list[list[str]]) -> float:
    run = {query: ranked([str(one) for one in found]) for query, found in zip(part.queries, answers, strict=True)}
    return float(np.mean(list(quality(run, part.judgements, ["nDCG@10"])["nDCG@10"].values())))

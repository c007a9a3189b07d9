"""rerankers' own types around our ranker."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from fables import Gate, Words, beside
from rerankers import Document
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults

from maxsieve.adapters.rerankers import MaxsieveRanker
from maxsieve.text import fetch_model, rerank

TEXTS = ["the hare", "sour grapes", "", "a fox and some grapes"]


def test_texts_in_results_out() -> None:
    ranker = MaxsieveRanker(Words())
    found = ranker.rank("sour grapes", TEXTS)
    hits = rerank("sour grapes", TEXTS, encoder=Words())
    assert isinstance(ranker, BaseRanker)
    assert isinstance(found, RankedResults)
    assert found.has_scores
    assert [one.doc_id for one in found] == [*hits.ids, 2] == [1, 3, 0, 2]
    assert [one.rank for one in found] == [1, 2, 3, 4]
    assert [one.score for one in found][:3] == pytest.approx((hits.scores / 2).tolist())
    assert found[0].score == pytest.approx(1), "a mean similarity"
    assert found[3].score is None, "a text without a token comes last"
    assert found.top_k(2)[0].text == "sour grapes"
    assert found.get_score_by_docid(3) == found[1].score
    assert found.query == "sour grapes"


def test_ids_and_metadata_are_kept() -> None:
    ranker = MaxsieveRanker(Words())
    given = [Document("sour grapes", doc_id="g", metadata={"page": 3}), Document("the hare")]
    found = ranker.rank("grapes", given)
    assert [(one.doc_id, one.metadata) for one in found] == [("g", {"page": 3}), (1, {})]
    assert found[0].page == 3
    named = ranker.rank("grapes", given, doc_ids=["x", "x"], metadata=[{"a": 1}, {"a": 2}])
    assert [(one.doc_id, one.a) for one in named] == [("x", 1), ("x", 2)]
    assert (given[0].doc_id, given[1].doc_id, given[0].metadata) == ("g", None, {"page": 3}), "as it was given"
    assert [one.doc_id for one in ranker.rank("grapes", "sour grapes")] == [0]
    assert [one.doc_id for one in ranker.rank("grapes", given[0])] == ["g"]
    assert ranker.rank("grapes", []).results_count() == 0


def test_one_score() -> None:
    ranker = MaxsieveRanker(Words())
    assert ranker.score("sour grapes", "sour grapes") == pytest.approx(1)
    assert ranker.score("sour grapes", "") == -float("inf")


def test_async_calls_leave_the_event_loop_free() -> None:
    gate = Gate()
    ranker = MaxsieveRanker(gate)
    assert beside(gate, lambda: ranker.rank_async("grapes", TEXTS))[0].doc_id == 1


def test_a_model_by_name_and_copies_of_it() -> None:
    fetch_model("minilm")
    ranker = MaxsieveRanker("minilm")
    found = [(one.doc_id, one.score) for one in ranker.rank("a fruit", TEXTS)]
    for again in (copy.deepcopy(ranker), pickle.loads(pickle.dumps(ranker))):
        assert [(one.doc_id, one.score) for one in again.rank("a fruit", TEXTS)] == found


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"docs": [7]}, "docs: document 0 is int"),
        ({"docs": ["a", Document(document_type="image", base64="x")]}, "docs: document 1 .*text"),
        ({"docs": ["a", "b"], "doc_ids": [1]}, "2 documents .*1 doc_ids"),
        ({"docs": ["a"], "metadata": [{}, {}]}, "1 documents .*2 metadata"),
        ({"docs": ["a"], "query": ""}, "nothing to search for"),
        ({"docs": ["a"], "query": None}, "query is NoneType"),
    ],
)
def test_bad_calls(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        MaxsieveRanker(Words()).rank(**{"query": "grapes", **arguments})


def test_a_bad_encoder() -> None:
    with pytest.raises(ValueError, match="'colbert'"):
        MaxsieveRanker("colbert")

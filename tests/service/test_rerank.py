"""Reranking, in the form of each API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from maxsieve.service.dialects import DocumentsReply, TextsResult, VoyageReply
from maxsieve.service.rerank_routes import relevance
from maxsieve.text import OnnxEncoder
from maxsieve.text.collection.rerank import rerank_texts
from maxsieve.text.passages import Document, sizes_for, splitter_for
from service.support import ANIMALS, Served, detail, serving

TEXTS = [*ANIMALS.values(), ""]
QUERY = "the river and the mountain"
PATHS = ("/rerank", "/v1/rerank", "/v2/rerank")


def alone(encoder: OnnxEncoder, query: str, texts: list[str]) -> list[tuple[int, float]]:
    """The result of the library itself."""
    documents = [Document(place, text, None) for place, text in enumerate(texts)]
    split = splitter_for(encoder, sizes_for(encoder))
    return [(int(one), score) for one, score in rerank_texts(query, documents, len(texts), None, encoder, split)]


def pairs(results: list[dict[str, Any]], score: str = "raw_score") -> list[tuple[int, float]]:
    return [(one["index"], one[score]) for one in results if one["raw_score"] is not None]


@pytest.mark.parametrize("path", PATHS)
def test_cohere_and_jina(shared: Served, encoder: OnnxEncoder, path: str) -> None:
    body = {"model": "rerank-v3.5", "query": QUERY, "documents": TEXTS, "max_tokens_per_doc": None, "top_n": None}
    answer = shared.client.post(path, json=body)
    assert answer.status_code == 200
    reply = answer.json()
    DocumentsReply.model_validate(reply)
    assert pairs(reply["results"]) == alone(encoder, QUERY, TEXTS)
    assert reply["results"][-1] == {"index": 4, "relevance_score": 0.0, "raw_score": None}
    assert reply["model"] == "rerank-v3.5"
    assert not any("document" in one for one in reply["results"])
    relevances = [one["relevance_score"] for one in reply["results"]]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= one <= 1 for one in relevances)


def test_top_n_and_the_documents_themselves(shared: Served) -> None:
    body = {"query": QUERY, "documents": TEXTS, "top_n": 2, "return_documents": True}
    results = shared.client.post("/v1/rerank", json=body).json()["results"]
    assert [one["document"]["text"] for one in results] == [TEXTS[one["index"]] for one in results]
    assert len(results) == 2


def test_documents_that_are_objects(shared: Served, encoder: OnnxEncoder) -> None:
    objects = [{"text": text, "title": "river", "size": 3} for text in TEXTS]
    body = {"query": QUERY, "documents": objects, "return_documents": True}
    results = shared.client.post("/v1/rerank", json=body).json()["results"]
    assert pairs(results) == alone(encoder, QUERY, TEXTS)
    assert results[0]["document"] == objects[results[0]["index"]]
    named = shared.client.post("/v1/rerank", json={**body, "rank_fields": ["title", "size", "none"]}).json()["results"]
    assert pairs(named) == alone(encoder, QUERY, ["river\n3"] * len(TEXTS))
    for wrong in ({"query": QUERY, "documents": [{"body": "x"}]}, {"query": QUERY, "documents": [{"text": ["x"]}]}):
        assert "documents.0" in detail(shared.client.post("/rerank", json=wrong))


def test_infinity(shared: Served, encoder: OnnxEncoder) -> None:
    body = {"query": QUERY, "documents": TEXTS, "return_documents": True, "raw_scores": False, "model": "m"}
    results = shared.client.post("/rerank", json=body).json()["results"]
    assert results[0]["document"] == TEXTS[results[0]["index"]]
    raw = shared.client.post("/rerank", json={**body, "raw_scores": True}).json()["results"]
    assert pairs(raw, "relevance_score") == alone(encoder, QUERY, TEXTS)


@pytest.mark.parametrize("how", [{"top_k": None}, {"truncation": True}, {"top_k": 9, "truncation": False}])
def test_voyage(shared: Served, encoder: OnnxEncoder, how: dict[str, Any]) -> None:
    body = {"query": QUERY, "documents": TEXTS, "model": "rerank-2", **how}
    reply = shared.client.post("/v1/rerank", json=body).json()
    VoyageReply.model_validate(reply)
    assert pairs(reply["data"]) == alone(encoder, QUERY, TEXTS)
    assert reply["usage"]["total_tokens"] > len(TEXTS)
    with_texts = shared.client.post("/v1/rerank", json={**body, "return_documents": True, "top_k": 1}).json()["data"]
    assert [one["document"] for one in with_texts] == [TEXTS[with_texts[0]["index"]]]


def test_text_embeddings_inference(shared: Served, encoder: OnnxEncoder) -> None:
    body = {"query": QUERY, "texts": TEXTS, "raw_scores": False, "return_text": False, "truncate": True}
    reply = shared.client.post("/rerank", json=body).json()
    TypeAdapter(list[TextsResult]).validate_python(reply)
    assert pairs(reply) == alone(encoder, QUERY, TEXTS)
    assert {one["index"] for one in reply} == set(range(len(TEXTS)))  # LlamaIndex expects as many as it sent
    assert [set(one) for one in reply] == [{"index", "score", "raw_score"}] * len(TEXTS)
    raw = shared.client.post("/rerank", json={**body, "raw_scores": True, "return_text": True}).json()
    assert pairs(raw, "score") == alone(encoder, QUERY, TEXTS)
    assert [one["text"] for one in raw] == [TEXTS[one["index"]] for one in raw]


def test_long_texts_count_by_their_best_passage(shared: Served, encoder: OnnxEncoder) -> None:
    long = " ".join(["bread and tea."] * 400 + ["A river under the mountain."] + ["tea and bread."] * 400)
    texts = [*TEXTS, long]
    results = shared.client.post("/rerank", json={"query": QUERY, "documents": texts}).json()["results"]
    assert pairs(results) == alone(encoder, QUERY, texts)


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"query": QUERY, "documents": []}, 422, "documents"),
        ({"query": QUERY}, 422, "documents"),
        ({"documents": TEXTS}, 422, "query"),
        ({"query": QUERY, "documents": TEXTS, "top_n": 0}, 422, "top_n"),
        ({"query": QUERY, "documents": TEXTS, "top_n": "3"}, 422, "top_n"),
        ({"query": QUERY, "documents": ["x"] * 1001}, 422, "1000"),
        ({"query": QUERY, "documents": [1]}, 422, "documents"),
        ({"query": QUERY, "texts": "one text"}, 422, "texts"),
        ({"query": " ", "documents": TEXTS}, 400, "nothing to search for"),
        ({"query": "q" * 16_385, "documents": TEXTS}, 422, "query"),
        ({"query": QUERY, "documents": ["x" * 1_000_001] * 2}, 413, "characters"),
        ([], 422, ""),
        ("text", 422, ""),
    ],
)
def test_what_can_not_be_reranked(shared: Served, body: Any, status: int, word: str) -> None:
    answer = shared.client.post("/v2/rerank", json=body)
    assert answer.status_code == status
    assert word in detail(answer)


def test_without_any_collection(encoder: OnnxEncoder) -> None:
    with serving(encoder) as served:
        assert served.client.post("/rerank", json={"query": "a", "texts": ["b"]}).status_code == 200
        assert served.client.get("/v1/collections").json() == {"collections": []}
        assert "there is no collection 'docs' here" in detail(served.search(query="river"))


@given(st.lists(st.floats(-40, 40, width=32), min_size=2, max_size=2), st.integers(1, 32))
def test_relevance_keeps_the_order(scores: list[float], tokens: int) -> None:
    low, high = sorted(scores)
    assert 0 <= relevance(low, tokens) <= relevance(high, tokens) <= 1


@settings(max_examples=20)
@given(texts=st.lists(st.text("abc de.", max_size=30), min_size=1, max_size=8))
def test_any_texts(shared: Served, encoder: OnnxEncoder, texts: list[str]) -> None:
    reply = shared.client.post("/rerank", json={"query": "abc", "texts": texts}).json()
    assert sorted(one["index"] for one in reply) == list(range(len(texts)))
    assert pairs(reply) == alone(encoder, "abc", texts)

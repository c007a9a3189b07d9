"""LlamaIndex's own classes around our retriever and postprocessor."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from fables import GUIDE, Gate, Words, beside, make
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, MetadataMode, NodeWithScore, QueryBundle, TextNode

import maxsieve as ms
from maxsieve.adapters.llama_index import MaxsieveRerank, MaxsieveRetriever
from maxsieve.text import fetch_model, rerank


@pytest.fixture
def fables(tmp_path: Path) -> ms.Collection:
    return make(tmp_path / "fables")


def nodes() -> list[NodeWithScore]:
    hidden = {"excluded_embed_metadata_keys": ["secret"]}
    return [
        NodeWithScore(node=TextNode(text="the hare", id_="h"), score=0.9),
        NodeWithScore(node=TextNode(text="sour", id_="g", metadata={"about": "grapes", "secret": "x"}, **hidden)),
        NodeWithScore(node=TextNode(text="", id_="e"), score=0.1),
        NodeWithScore(node=Document(text="a fox and some grapes", id_="f"), score=0.3),
    ]


def test_nodes_are_the_documents_of_the_collection(fables: ms.Collection) -> None:
    found = MaxsieveRetriever(fables, 4).retrieve("sour grapes")
    hits = fables.search("sour grapes", k=4, by="passage")
    assert [one.node_id for one in found] == hits.passage_ids
    assert [one.text for one in found] == hits.texts
    assert [one.score for one in found] == hits.scores.tolist()
    documents = fables.search("sour grapes", k=4)
    by_document = MaxsieveRetriever(fables, 4, search_kwargs={"by": "document"}).retrieve("sour grapes")
    assert [(one.node_id, one.text) for one in by_document] == list(zip(documents.ids, documents.texts, strict=True))
    by_id = {one.node_id: one.metadata for one in by_document}
    assert (by_id["fox"], by_id["hare"]) == ({"page": 1}, {})
    assert by_id["crow"] == {"metadata": ["not", "a", "dict"]}
    assert len(MaxsieveRetriever(fables).retrieve("sour grapes")) == 2


def test_a_passage_or_the_whole_document(fables: ms.Collection) -> None:
    [found] = MaxsieveRetriever(fables, 1, with_guarantee=True).retrieve(QueryBundle("number n3"))
    node = found.node
    assert isinstance(node, TextNode)
    assert GUIDE[node.start_char_idx : node.end_char_idx] == node.text
    assert node.metadata["maxsieve"]["passage"]["heading"] == "Tea > Part 3"
    assert node.metadata["maxsieve"]["guarantee"] == "exact"
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.get_content(mode) == f"page: 7\n\n{node.text}".strip(), "models don't see what is ours"
    [whole] = MaxsieveRetriever(fables, 1, text="document").retrieve("number n3")
    assert (whole.node_id, whole.text) == ("guide", GUIDE)


def test_many_queries_at_once(tmp_path: Path) -> None:
    encoder = Words()
    retriever = MaxsieveRetriever(make(tmp_path / "fables", encoder), 2)
    queries = ["sour grapes", "number n3"]
    alone = [retriever.retrieve(query) for query in queries]
    encoder.asked.clear()
    assert retriever.retrieve_many(queries) == alone
    assert encoder.asked == [2]


def test_async_calls_leave_the_event_loop_free(tmp_path: Path) -> None:
    gate = Gate()
    retriever = MaxsieveRetriever(make(tmp_path / "fables", gate), 1)
    reranking = MaxsieveRerank(1, gate)
    assert beside(gate, lambda: retriever.aretrieve("grapes"))[0].node_id == "fox"
    gate.opened.clear()
    assert beside(gate, lambda: reranking.apostprocess_nodes(nodes(), query_str="grapes"))[0].node_id == "g"


def test_under_a_query_engine_and_a_fusion(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(fables, 3)
    reranking = MaxsieveRerank(1, Words())
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[reranking])
    response = engine.query("number n3")
    assert [one.metadata["maxsieve"]["document"] for one in response.source_nodes] == ["guide"]
    fusing = QueryFusionRetriever(
        [retriever, MaxsieveRetriever(fables, 1)], llm=MockLLM(), num_queries=1, use_async=False
    )
    fusing.similarity_top_k = 10
    assert sorted(one.node_id for one in fusing.retrieve("sour grapes")) == sorted(
        one.node_id for one in retriever.retrieve("sour grapes")
    ), "a node that both find comes once"


def test_the_postprocessor_ranks_by_text_as_it_is_embedded() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    given = nodes()
    reranking = MaxsieveRerank(3, Words(), callback_manager=CallbackManager([debug]))
    found = reranking.postprocess_nodes(given, query_str="sour grapes")
    texts = [one.node.get_content(MetadataMode.EMBED) for one in given]
    assert "grapes" in texts[1]
    assert "secret" not in texts[1]
    hits = rerank("sour grapes", texts, encoder=Words())
    assert [one.node_id for one in found] == ["g", "f", "h"]
    assert [one.score for one in found] == pytest.approx((hits.scores / 2).tolist())
    assert found[0].node is given[1].node
    assert [one.score for one in given] == [0.9, None, 0.1, 0.3], "what was given stays as it was"
    assert len(debug.get_event_pairs(CBEventType.RERANKING)) == 1
    assert reranking.postprocess_nodes([], query_str="sour grapes") == []


def test_a_postprocessor_from_a_dict() -> None:
    fetch_model("minilm")
    reranking = MaxsieveRerank(2, keep_retrieval_score=True)
    described = reranking.to_dict()
    assert (described["class_name"], described["encoder"]) == ("MaxsieveRerank", "minilm")
    again = MaxsieveRerank.from_dict(described)
    assert again.to_dict() == described
    first, second = (one.postprocess_nodes(nodes(), query_str="fruit") for one in (reranking, again))
    assert [(one.node_id, one.score) for one in first] == [(one.node_id, one.score) for one in second]


def test_the_old_score_can_be_kept() -> None:
    given = nodes()
    [first, second] = MaxsieveRerank(2, Words(), keep_retrieval_score=True).postprocess_nodes(given, query_str="grapes")
    assert (first.node_id, first.metadata["retrieval_score"]) == ("g", None)
    assert (second.node_id, second.metadata["retrieval_score"]) == ("f", 0.3)
    assert "retrieval_score" not in given[3].metadata


def test_copies(fables: ms.Collection) -> None:
    retriever, reranking = MaxsieveRetriever(fables, 1), MaxsieveRerank(1, Words())
    for again in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        assert again(retriever).retrieve("grapes") == retriever.retrieve("grapes")
        assert again(reranking).postprocess_nodes(nodes(), query_str="grapes")[0].node_id == "g"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"similarity_top_k": 0}, r"similarity_top_k\b.*\b0\b"),
        ({"similarity_top_k": -1}, r"similarity_top_k\b.*-1\b"),
        ({"text": "page"}, "text .*'page'"),
        ({"collection": None}, "collection .*None"),
    ],
)
def test_bad_arguments(fables: ms.Collection, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        MaxsieveRetriever(**{"collection": fables, **arguments})


def test_bad_calls(fables: ms.Collection, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        MaxsieveRetriever(tmp_path / "nowhere")
    with pytest.raises(TypeError, match=r"encoder\b.*\bNone"):
        MaxsieveRerank(encoder=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="top_n"):
        MaxsieveRerank(0, Words())
    with pytest.raises(ValueError, match=r"MaxsieveRerank.*query"):
        MaxsieveRerank(1, Words()).postprocess_nodes(nodes())
    with pytest.raises(ValueError, match="nothing to search"):
        MaxsieveRetriever(fables).retrieve("")
    assert len(MaxsieveRetriever(fables, 10**15, text="document").retrieve("grapes")) == 4

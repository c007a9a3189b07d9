"""LangChain's own classes around our retriever and compressor."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from fables import GUIDE, Gate, Words, beside, make
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableLambda

import maxsieve as ms
from maxsieve.adapters.langchain import MaxsieveRerank, MaxsieveRetriever
from maxsieve.text import rerank


@pytest.fixture
def fables(tmp_path: Path) -> ms.Collection:
    return make(tmp_path / "fables")


def documents() -> list[Document]:
    return [
        Document("the hare", id="same"),
        Document("sour grapes", id="same", metadata={"page": 3}),
        Document(""),
        Document("a fox and some grapes"),
    ]


def test_documents_are_those_of_the_collection(fables: ms.Collection) -> None:
    found = MaxsieveRetriever(collection=fables, k=4).invoke("sour grapes")
    hits = fables.search("sour grapes", k=4, by="passage")
    assert [one.id for one in found] == hits.passage_ids
    assert [one.page_content for one in found] == hits.texts
    documents = fables.search("sour grapes", k=4)
    by_document = MaxsieveRetriever(collection=fables, k=4, search_kwargs={"by": "document"}).invoke("sour grapes")
    assert [(one.id, one.page_content) for one in by_document] == list(zip(documents.ids, documents.texts, strict=True))
    by_id = {one.id: one.metadata for one in by_document}
    assert by_id["fox"] == {"page": 1}
    assert by_id["hare"] == {}
    assert by_id["crow"] == {"metadata": ["not", "a", "dict"]}


def test_a_passage_or_the_whole_document(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(collection=fables, k=1)
    [passage] = retriever.invoke("number n3")
    place = passage.metadata["maxsieve"]["passage"]
    assert "n3" in passage.page_content
    assert GUIDE[place["start"] :].startswith(passage.page_content)
    assert (place["heading"], place["of"] > 1, passage.metadata["page"]) == ("Tea > Part 3", True, 7)
    [whole] = MaxsieveRetriever(collection=fables, k=1, text="document").invoke("number n3")
    assert (whole.id, whole.page_content) == ("guide", GUIDE)
    assert retriever.invoke("number n3", text="document") == [whole]


def test_k_counts_passages(fables: ms.Collection) -> None:
    """What a chain with k = 5 means: five pieces of text, of one document if it has them."""
    found = MaxsieveRetriever(collection=fables, k=5).invoke("what has number n3 to say about tea")
    assert len(found) == len({one.id for one in found}) == 5
    assert {one.metadata["maxsieve"]["document"] for one in found} == {"guide"}
    assert all(one.page_content in GUIDE for one in found)
    with pytest.raises(ValueError, match="by passage"):
        MaxsieveRetriever(collection=fables, text="document", search_kwargs={"by": "passage"}).invoke("tea")


def test_numbers_as_ids(tmp_path: Path) -> None:
    numbered = ms.Collection.create(tmp_path / "numbered", Words())
    numbered.add(["the fox", "the owl"], ids=[10, 20])
    assert MaxsieveRetriever(collection=numbered, k=1).invoke("owl")[0].id == "20"


def test_arguments_of_a_search(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(collection=fables, search_kwargs={"candidates": ["hare", "crow"]})
    assert {one.id for one in retriever.invoke("sour grapes")} == {"hare", "crow"}
    assert [one.id for one in retriever.invoke("sour grapes", k=1, candidates=["crow"])] == ["crow"]
    scored = MaxsieveRetriever(collection=fables, with_scores=True, search_kwargs={"policy": ms.Bandit()})
    hits = fables.search("sour grapes", k=4, policy=ms.Bandit())
    [first, *_] = scored.invoke("sour grapes")
    promise = {"guarantee": hits.report.guarantee, "scope": "all"}
    assert first.metadata == {"page": 1, "maxsieve": {"score": float(hits.scores[0]), **promise}}


def test_a_document_that_two_queries_find_is_equal(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(collection=fables, k=1)
    assert retriever.invoke("grapes") == retriever.invoke("sour fox")


class Counting(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_retriever_start(self, serialized: Any, query: str, **_: Any) -> None:
        self.events.append(("start", query))

    def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self.events.append(("end", len(documents)))

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.events.append(("error", str(error)))


def test_a_batch_is_searched_together_and_each_query_is_traced(tmp_path: Path) -> None:
    encoder = Words()
    retriever = MaxsieveRetriever(collection=make(tmp_path / "fables", encoder), k=2)
    queries, counting = ["sour grapes", "number n3", "tortoise"], Counting()
    alone = [retriever.invoke(query) for query in queries]
    encoder.asked.clear()
    chain = retriever | RunnableLambda(lambda found: [one.id for one in found])
    assert chain.batch(queries, {"callbacks": [counting]}) == [[one.id for one in found] for found in alone]
    assert encoder.asked == [3]
    assert [what for what, _ in counting.events].count("start") == 3
    assert ("start", "number n3") in counting.events
    assert counting.events.count(("end", 2)) == 3
    assert retriever.batch([]) == []


def test_a_bad_query_in_a_batch(fables: ms.Collection) -> None:
    retriever, counting = MaxsieveRetriever(collection=fables, k=1), Counting()
    good, bad = retriever.batch(["grapes", " "], {"callbacks": [counting]}, return_exceptions=True)
    assert [one.id for one in good] == ["fox"]
    assert str(bad) == "query is ' ', which contains nothing to search for"
    assert ("error", str(bad)) in counting.events
    with pytest.raises(ValueError, match="nothing to search"):
        retriever.batch(["grapes", " "])


def test_async_calls_leave_the_event_loop_free(tmp_path: Path) -> None:
    gate = Gate()
    retriever = MaxsieveRetriever(collection=make(tmp_path / "fables", gate), k=1)
    compressor = MaxsieveRerank(encoder=gate, top_n=1)
    works: list[Any] = [
        lambda: retriever.ainvoke("grapes"),
        lambda: retriever.abatch(["grapes", "tortoise"]),
        lambda: compressor.acompress_documents(documents(), "grapes"),
    ]
    for work in works:
        gate.opened.clear()
        assert beside(gate, work)
    gate.asked.clear()
    assert [found[0].id for found in beside(gate, works[1])] == ["fox", "hare"]
    assert gate.asked == [2]


def test_under_other_retrievers(fables: ms.Collection) -> None:
    base = MaxsieveRetriever(collection=fables, k=3)
    compressor = MaxsieveRerank(encoder=Words(), top_n=1)
    compressing = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=base)
    assert [one.metadata["maxsieve"]["document"] for one in compressing.invoke("number n3")] == ["guide"]
    both = EnsembleRetriever(retrievers=[base, MaxsieveRetriever(collection=fables, k=1)], weights=[0.5, 0.5])
    assert [one.id for one in both.invoke("sour grapes")] == [one.id for one in base.invoke("sour grapes")]
    chosen = base.configurable_fields(k=ConfigurableField(id="k"))
    assert len(chosen.invoke("grapes", {"configurable": {"k": 1}})) == 1


def test_the_compressor_keeps_what_documents_have() -> None:
    given = documents()
    found = MaxsieveRerank(encoder=Words(), top_n=None).compress_documents(given, "sour grapes")
    hits = rerank("sour grapes", [one.page_content for one in given], encoder=Words())
    assert [one.page_content for one in found] == hits.texts == ["sour grapes", "a fox and some grapes", "the hare"]
    assert [one.metadata["relevance_score"] for one in found] == hits.scores.tolist()
    assert (found[0].id, found[0].metadata["page"]) == ("same", 3)
    assert given == documents(), "what was given stays as it was"
    assert MaxsieveRerank(encoder=Words()).compress_documents([], "grapes") == []
    assert MaxsieveRerank(encoder=Words()).compress_documents([Document("")], "grapes") == []


def test_copies(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(collection=fables, k=1)
    compressor = MaxsieveRerank(encoder=Words(), top_n=1)
    for again in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one.model_copy(deep=True)):
        assert again(retriever).invoke("grapes") == retriever.invoke("grapes")
        assert again(compressor).compress_documents(documents(), "grapes")[0].page_content == "sour grapes"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"k": 0}, r"\bk\b.*\b0\b"),
        ({"k": -3}, r"\bk\b.*-3\b"),
        ({"k": 2.5}, r"\bk\b.*2\.5"),
        ({"text": "page"}, "text .*'page'"),
        ({"collection": 7}, r"collection .*\b7\b"),
        ({"knn": 3}, "Extra inputs are not permitted"),
    ],
)
def test_bad_arguments(fables: ms.Collection, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        MaxsieveRetriever(**{"collection": fables, **arguments})


def test_bad_calls(fables: ms.Collection, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        MaxsieveRetriever(collection=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="'nothing'"):
        MaxsieveRerank(encoder="nothing")
    with pytest.raises(ValueError, match="top_n"):
        MaxsieveRerank(encoder=Words(), top_n=0)
    retriever = MaxsieveRetriever(collection=fables)
    with pytest.raises(ValueError, match=r"\bk\b.*\b0\b"):
        retriever.invoke("grapes", k=0)
    with pytest.raises(TypeError, match="'colour'"):
        retriever.invoke("grapes", colour="red")
    assert len(retriever.invoke("grapes", k=10**15, by="document")) == 4
    with pytest.raises(ValueError, match="nothing to search"):
        MaxsieveRerank(encoder=Words()).compress_documents(documents(), "")

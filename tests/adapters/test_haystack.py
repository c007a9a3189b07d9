"""Haystack's own pipelines around our components."""

from __future__ import annotations

import asyncio
import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from fables import GUIDE, Gate, beside, make, make_minilm
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers import MultiQueryTextRetriever
from haystack.core.errors import DeserializationError

import maxsieve as ms
from maxsieve.adapters.haystack import MaxsieveRanker, MaxsieveRetriever
from maxsieve.text import rerank


@pytest.fixture(scope="module")
def fables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("haystack") / "fables"
    make_minilm(path).close()
    return path


def documents() -> list[Document]:
    return [
        Document(content="The hare sleeps.", id="a"),
        Document(content="The grapes are sour.", id="b", meta={"page": 3}),
        Document(content="", id="c"),
        Document(content="Out of reach", id="d", meta={"title": "The fox and the grapes"}),
    ]


def test_documents_are_those_of_the_collection(fables: Path) -> None:
    hits = ms.Collection.open(fables).search("sour grapes", k=4)
    answer = MaxsieveRetriever(fables, top_k=4).run("sour grapes")
    found = answer["documents"]
    assert [one.id for one in found] == hits.ids
    assert [one.content for one in found] == hits.texts
    assert [one.score for one in found] == hits.scores.tolist()
    assert {one.id: one.meta for one in found}["fox"] == {"page": 1}
    assert answer["report"].pop("seconds") > 0
    assert answer["report"] == {"guarantee": "exact", "scope": "all", "documents": 5}


def test_a_passage_or_the_whole_document(fables: Path) -> None:
    [found] = MaxsieveRetriever(fables, text="document").run("what has number n3 to say about tea", top_k=1)[
        "documents"
    ]
    assert (found.id, found.content) == ("guide", GUIDE)


def test_filters_are_haystacks(fables: Path) -> None:
    late = {"field": "meta.page", "operator": ">=", "value": 2}
    retriever = MaxsieveRetriever(fables, filters=late)
    answer = retriever.run("sour grapes")
    assert [one.id for one in answer["documents"]] == ["guide"]
    assert (answer["report"]["scope"], answer["report"]["documents"]) == ("candidates", 1)
    either = {"operator": "OR", "conditions": [late, {"field": "meta.page", "operator": "==", "value": 1}]}
    assert [one.id for one in retriever.run("sour grapes", filters=either)["documents"]] == ["fox", "guide"]
    nothing = {"field": "meta.page", "operator": "==", "value": 99}
    assert retriever.run("sour grapes", filters=nothing)["documents"] == []


def pipeline(fables: Path) -> Pipeline:
    made = Pipeline()
    policy = ms.Bandit(alpha=1, radius="serfling")
    assert MaxsieveRetriever(fables, policy="exact").policy == ms.Certified()
    made.add_component("retriever", MaxsieveRetriever(fables, top_k=3, policy=policy, search_kwargs={"threads": 1}))
    made.add_component("ranker", MaxsieveRanker(top_k=2, meta_fields_to_embed=["title"]))
    made.add_component("prompt", PromptBuilder("{% for one in documents %}{{ one.content }};{% endfor %}"))
    made.connect("retriever.documents", "ranker.documents")
    made.connect("ranker.documents", "prompt.documents")
    return made


def test_a_pipeline_goes_to_yaml_and_back(fables: Path) -> None:
    first = pipeline(fables)
    with pytest.raises(DeserializationError, match="allowlist"):
        Pipeline.loads(first.dumps())
    second = Pipeline.loads(first.dumps(), allowed_modules=["maxsieve.adapters.haystack"])
    assert second.to_dict()["components"] == first.to_dict()["components"]
    assert second.get_component("retriever").policy == ms.Bandit(alpha=1, radius="serfling")
    queries = {"retriever": {"query": "sour grapes"}, "ranker": {"query": "sour grapes"}}
    answers = [one.run(queries) for one in (first, second)]
    assert answers[0]["prompt"] == answers[1]["prompt"]
    assert answers[0]["prompt"]["prompt"].startswith("the fox and the sour grapes;")
    assert answers[0]["retriever"]["report"]["guarantee"] in ("pac", "exact")
    again = asyncio.run(second.run_async(queries))
    assert again["prompt"] == answers[0]["prompt"]


def test_many_queries(fables: Path) -> None:
    found = MultiQueryTextRetriever(retriever=MaxsieveRetriever(fables, top_k=1)).run(
        ["sour grapes", "a slow tortoise"]
    )
    assert {one.id for one in found["documents"]} == {"fox", "hare"}


def test_nothing_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    retriever, ranker = MaxsieveRetriever(tmp_path / "nowhere"), MaxsieveRanker("nothing")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        retriever.warm_up()
    with pytest.raises(ValueError, match="'nothing'"):
        ranker.warm_up()


def test_the_ranker_keeps_what_documents_have() -> None:
    given = documents()
    ranker = MaxsieveRanker(meta_fields_to_embed=["title"])
    found = ranker.run("sour grapes", [*given, *given])["documents"]
    hits = rerank("sour grapes", [given[0].content, given[1].content, "The fox and the grapes\nOut of reach"])
    assert [one.id for one in found] == ["b", "d", "a"]
    assert [one.score for one in found] == hits.scores.tolist()
    assert (found[0].content, found[0].meta) == ("The grapes are sour.", {"page": 3})
    assert given == documents(), "what was given stays as it was"
    assert len(ranker.run("sour grapes", given, top_k=1)["documents"]) == 1
    assert ranker.run("sour grapes", [])["documents"] == []


def test_copies(fables: Path) -> None:
    retriever, ranker = MaxsieveRetriever(fables, top_k=1), MaxsieveRanker(top_k=1)
    retriever.warm_up()
    ranker.warm_up()
    for again in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        assert again(retriever).run("grapes")["documents"] == retriever.run("grapes")["documents"]
        assert again(ranker).to_dict() == ranker.to_dict()
    retriever.close()
    assert retriever.run("grapes")["documents"][0].id == "fox", "it is opened again"


def test_async_calls_leave_the_event_loop_free(fables: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gate = Gate()
    make(tmp_path / "words", gate).close()
    monkeypatch.setattr("maxsieve.text.encoders.encoder.load_encoder", lambda _: gate)
    retriever, ranker = MaxsieveRetriever(tmp_path / "words", "words"), MaxsieveRanker("words")
    assert beside(gate, lambda: retriever.run_async("grapes"))["documents"][0].id == "fox"
    gate.opened.clear()
    assert beside(gate, lambda: ranker.run_async("grapes", documents(), 1))["documents"][0].id == "b"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"top_k": 0}, r"top_k\b.*\b0\b"),
        ({"text": "page"}, "text .*'page'"),
        ({"collection": 7}, r"collection .*\b7\b"),
        ({"encoder": object}, "encoder"),
        ({"policy": "fast"}, "policy"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        MaxsieveRetriever(**{"collection": "fables", **arguments})


def test_bad_calls(fables: Path, tmp_path: Path) -> None:
    retriever, ranker = MaxsieveRetriever(fables), MaxsieveRanker()
    for component in (lambda k: retriever.run("grapes", top_k=k), lambda k: ranker.run("grapes", documents(), k)):
        for k in (0, -1):
            with pytest.raises(ValueError, match=rf"\btop_k\b.*{k}"):
                component(k)
        assert len(component(10**15)["documents"]) in (3, 4)
    with pytest.raises(ValueError, match="document 'x'"):
        ranker.run("grapes", [Document(id="x")])
    with pytest.raises(TypeError, match=r"encoder"):
        MaxsieveRanker(None)  # type: ignore[arg-type]
    described = retriever.to_dict()
    described["init_parameters"]["policy"] = {"name": "os.system"}
    with pytest.raises(ValueError, match=r"policy .*'bandit'"):
        MaxsieveRetriever.from_dict(described)
    make(tmp_path / "words").close()
    with pytest.raises(ValueError, match=r"'words'.*built-in"):
        MaxsieveRetriever(tmp_path / "words").run("grapes")

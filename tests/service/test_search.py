"""Searching collections: the same answers as the library, with all details."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import Bandit, Calibrated, Certified, Collection, Exhaustive
from maxsieve.cli.answers import snippet
from maxsieve.service.schemas import CollectionFacts, CollectionList, SearchAnswer
from maxsieve.text import OnnxEncoder
from maxsieve.text.collection.snippets import marks_of
from service.support import ANIMALS, Served, detail, serving

POLICIES = {
    "certified": Certified(),
    "exhaustive": Exhaustive(),
    "bandit": Bandit(),
}
KNOBS = {"name": "bandit", "alpha": 0.5, "delta": 0.1, "margin": 1, "block": 2, "seed": 7, "radius": "serfling"}


@pytest.fixture(scope="module")
def library(shared: Served) -> Collection:
    """The collection of the service, opened here."""
    return Collection.open(shared.service.collections["docs"].path, shared.service.encoder)


def found(answer: Any) -> list[tuple[str, float]]:
    assert answer.status_code == 200, answer.text
    SearchAnswer.model_validate(answer.json())
    return [(hit["id"], hit["score"]) for hit in answer.json()["hits"]]


@pytest.mark.parametrize("policy", [*POLICIES, KNOBS])
@pytest.mark.parametrize("k", [1, 3, 1000])
def test_policies(shared: Served, library: Collection, policy: Any, k: int) -> None:
    chosen = POLICIES[policy] if isinstance(policy, str) else Bandit(0.5, 0.1, 1, 2, 7, "serfling")
    answer = shared.search(query="the river", k=k, policy=policy)
    expected = library.search("the river", k, policy=chosen)
    assert found(answer) == list(expected)
    report = answer.json()["report"]
    assert report["guarantee"] == expected.report.guarantee
    assert report["coverage"] == expected.report.coverage
    for one, round_ in zip(report["rounds"], expected.report.rounds, strict=True):
        threshold = round_.threshold if np.isfinite(round_.threshold) else None
        assert one == {"active": round_.active, "revealed": round_.revealed, "threshold": threshold}


@pytest.mark.parametrize(
    "how",
    [
        {"candidates": ["owl", "tea"]},
        {"exclude": ["path"]},
        {"candidates": ["owl", "tea"], "exclude": ["owl"]},
        {"first_stage": "bm25", "depth": 2},
        {"hybrid": "rrf"},
        {"hybrid": 0.25, "candidates": ["owl", "fox"]},
    ],
)
def test_options(shared: Served, library: Collection, how: dict[str, Any]) -> None:
    answer = shared.search(query="the river and the owl", **how)
    expected = library.search("the river and the owl", **how)
    assert found(answer) == list(expected)
    assert answer.json()["report"]["scope"] == expected.scope


def test_everything_there_is_to_say(shared: Served) -> None:
    answer = shared.search(query="red river", k=2).json()
    first = answer["hits"][0]
    assert (first["rank"], first["id"], first["text"]) == (1, "fox", ANIMALS["fox"])
    assert first["metadata"] == {"year": 1999}
    for one in first["matches"]:
        assert first["text"][one["start"] : one["end"]] == one["word"]
        assert "red river"[one["query_start"] : one["query_end"]] == one["query_word"]
    assert sum(one["similarity"] for one in first["matches"]) == pytest.approx(first["score"], rel=1e-5)
    assert answer["query"]["words"] == [
        {"word": "red", "start": 0, "end": 3},
        {"word": "river", "start": 4, "end": 9},
    ]
    assert answer["report"]["sentence"] == "exact among 4 documents"
    assert answer["report"]["together"] == 1
    assert {"encode", "search", "search.scan"} <= set(answer["timing_ms"])
    assert "trace" not in answer
    assert "matches" not in shared.search(query="red river", matches=False).json()["hits"][0]


def test_the_part_to_show_is_the_command_lines(shared: Served, library: Collection) -> None:
    query = "owl river"
    hits = shared.search(query=query).json()["hits"]
    for hit, known in zip(hits, library.search(query), strict=True):
        marks = [mark for mark in marks_of(known.explain()) if mark.grade]
        assert hit["marks"] == [{"start": one.start, "end": one.end, "grade": one.grade} for one in marks]
        start, end = hit["snippet"]["start"], hit["snippet"]["end"]
        assert hit["text"][start:end] == snippet(known.text, marks, 320, 1).plain
    bare = shared.search(query=query, matches=False).json()["hits"][0]
    assert not {"marks", "snippet", "matches"} & bare.keys()


@pytest.mark.parametrize("how", [{}, {"hybrid": "rrf"}, {"where": {"year": {"gte": 2000}}}, {"trace": True}])
def test_the_next_hits(shared: Served, how: dict[str, Any]) -> None:
    everything = shared.search(query="the river", k=4, **how).json()
    second = shared.search(query="the river", k=2, offset=1, **how).json()
    assert second["hits"] == everything["hits"][1:3]
    third = shared.search(query="the river", k=3, **how).json()
    known = ("guarantee", "sentence", "rescored", "documents")
    assert [second["report"][name] for name in known] == [third["report"][name] for name in known]
    assert (
        len(second.get("trace", {"hits": range(3)})["hits"]) == 3
    )  # the guarantee is about those that are left out, too
    assert shared.search(query="the river", k=2, offset=9, **how).json()["hits"] == []


def test_vectors(shared: Served, library: Collection, encoder: OnnxEncoder) -> None:
    [rows] = encoder.encode_queries(["red river"])
    answer = shared.search(vectors=rows.astype(float).tolist(), k=2)
    assert found(answer) == list(library.search("red river", 2))
    matches = answer.json()["hits"][0]["matches"]
    assert [one["query_start"] for one in matches] == list(range(len(rows)))
    assert [one["word"] for one in matches] == ["red", "river"]
    assert answer.json()["query"] == {"text": None, "tokens": len(rows), "words": []}


def test_collections(shared: Served) -> None:
    listed = shared.client.get("/v1/collections").json()
    CollectionList.model_validate(listed)
    assert listed["collections"][0]["documents"] == 4
    one = shared.client.get("/v1/collections/docs").json()
    CollectionFacts.model_validate(one)
    assert listed == {"collections": [one]}
    assert str(shared.service.collections["docs"].path) not in str(one)  # its place on the disk is not shown


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({}, 422, "query or vectors"),
        ({"query": "a", "vectors": [[1.0]]}, 422, "query or vectors"),
        ({"query": "a", "k": 0}, 422, "k"),
        ({"query": "a", "k": 1001}, 422, "k"),
        ({"query": "a", "k": 2**70}, 422, "k"),
        ({"query": "a", "k": 1.5}, 422, "k"),
        ({"query": "a", "k": True}, 422, "k"),
        ({"query": "a", "k": 10, "offset": 991}, 422, "offset and k may be 1,000 in total"),
        ({"query": "a", "offset": -1}, 422, "offset"),
        ({"query": "a", "kk": 3}, 422, "kk"),
        ({"query": "a", "policy": "best"}, 422, "policy"),
        ({"query": "a", "policy": {"name": "certified", "alpha": 0.5}}, 422, "alpha"),
        ({"query": "a", "policy": {"name": "bandit", "alpha": 2}}, 422, "alpha"),
        ({"query": "a", "policy": "calibrated"}, 400, "not calibrated"),
        ({"query": "a", "candidates": ["nobody"]}, 404, "'nobody'"),
        ({"query": "a", "exclude": ["nobody"]}, 404, "'nobody'"),
        ({"query": "a", "candidates": [1, 2]}, 404, "id 1"),
        ({"query": "a", "candidates": [True]}, 422, "candidates"),
        ({"query": "a", "candidates": [0.5]}, 422, "candidates"),
        ({"query": "a", "first_stage": "/etc/passwd"}, 422, "first_stage"),
        ({"query": "a", "hybrid": 1}, 422, "hybrid"),
        ({"query": "a", "hybrid": "rrf", "first_stage": "bm25"}, 400, "not both"),
        ({"query": ""}, 400, "nothing to search for"),
        ({"query": "\u2028 \t"}, 400, "nothing to search for"),
        ({"query": 3}, 422, "query"),
        ({"vectors": []}, 422, "vectors"),
        ({"vectors": [[]]}, 422, "vectors"),
        ({"vectors": [[1.0], [1.0, 2.0]]}, 400, "the same length"),
        ({"vectors": [[1.0]]}, 400, "dim"),
        ({"vectors": [["1.0"]]}, 422, "vectors"),
        ({"vectors": [[1e300] * 16]}, 400, ""),
        ({"vectors": [[1.0]], "hybrid": "rrf"}, 422, "BM25"),
    ],
)
def test_what_can_not_be_searched_for(shared: Served, body: dict[str, Any], status: int, word: str) -> None:
    answer = shared.search(**body)
    assert answer.status_code == status, answer.text
    assert word in detail(answer)


def test_an_error_does_not_advise_what_no_request_can_do(shared: Served) -> None:
    answer = shared.search(query="a", policy="calibrated")
    assert detail(answer) == "this collection is not calibrated"  # in Python, calibrate() does that


@pytest.mark.parametrize("name", ["nobody", "..", "%2e%2e%2fdocs", "docs%00", "a" * 101])
def test_other_names_reach_no_disk(shared: Served, name: str) -> None:
    answer = shared.client.post(f"/v1/collections/{name}/search", json={"query": "a"})
    assert answer.status_code in (404, 405, 422)
    detail(answer)


def test_a_calibrated_collection(shared: Served, tmp_path: Path, encoder: OnnxEncoder) -> None:
    from service.support import serving

    rng = np.random.default_rng(0)
    words = ["river", "owl", "tea", "bread", "mountain", "fox", "path", "red", "blue", "green"]
    with Collection.create(tmp_path / "many", encoder) as made:
        made.add([" ".join(rng.choice(words, 8)) for _ in range(300)], range(300))
        made.calibrate([" ".join(rng.choice(words, 3)) for _ in range(120)], 10)
    with serving(encoder, {"many": tmp_path / "many"}) as served, Collection.open(tmp_path / "many", encoder) as alone:
        answer = served.search("many", query="red tea", k=5, policy={"name": "calibrated", "overlap": 0.9})
        expected = alone.search("red tea", 5, policy=Calibrated(0.9))
        assert found(answer) == list(expected)
        assert answer.json()["report"]["guarantee"] == expected.report.guarantee
        assert answer.json()["report"]["calibrated_on"] == "queries"
        assert answer.json()["hits"][0]["id"] == expected.ids[0]  # a number stays a number
        facts = served.client.get("/v1/collections/many").json()
        assert facts["calibrated"] is True
        assert facts["calibration"] == {"queries": 120, "k": 10, "holds": True}


def test_a_trace(shared: Served) -> None:
    answer = shared.search(query="the river", k=2, policy="bandit", trace=True)
    assert answer.status_code == 200, answer.text
    SearchAnswer.model_validate(answer.json())
    trace = answer.json()["trace"]
    assert trace["documents"] == 4
    assert len(trace["ids"]) == 4
    assert answer.json()["report"]["together"] == 1
    assert "trace" in detail(shared.search(query="the river", hybrid="rrf", trace=True))


def test_filters(shared: Served, library: Collection) -> None:
    answer = shared.search(query="the river", where={"year": {"gte": 2001}})
    assert found(answer) == list(library.search("the river", where={"year": {"gte": 2001}}))
    assert len(found(answer)) == 3
    wrong = shared.search(query="the river", where={"year": {"above": 2001}})
    assert wrong.status_code == 400
    assert "above" in detail(wrong)


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory, encoder: OnnxEncoder) -> Iterator[tuple[Served, Collection]]:
    """A service of a long text and a short one, and the same collection opened here."""
    path = tmp_path_factory.mktemp("guide") / "docs"
    long = "\n\n".join(f"## Part {n}\n\n" + f"The fox of part {n} saw the river. " * 30 for n in range(6))
    with Collection.create(path, encoder) as collection:
        collection.add([long, "a fox", "an owl"], ["guide", "fox", "owl"])
        with serving(encoder, {"docs": path}) as served:
            yield served, collection


@pytest.mark.parametrize("how", [{}, {"first_stage": "bm25", "depth": 5}, {"hybrid": 0.3}, {"exclude": ["fox"]}])
def test_passages(guide: tuple[Served, Collection], how: dict[str, Any]) -> None:
    served, collection = guide
    answer = served.search(query="the fox river", k=4, by="passage", **how)
    expected = collection.search("the fox river", 4, by="passage", **how)
    assert found(answer) == list(expected)
    hits, report = answer.json()["hits"], answer.json()["report"]
    assert [hit["text"] for hit in hits] == expected.texts
    assert report["passages"] == expected.n_passages
    assert "passages" in report["sentence"]


def test_documents_list_their_best_passages(guide: tuple[Served, Collection]) -> None:
    served, collection = guide
    answer = served.search(query="the fox river", per_document=3)
    hits = {hit["id"]: hit for hit in found_hits(answer)}
    for expected in collection.search("the fox river", per_document=3):
        passages = hits[expected.id]["passages"]
        assert [(one["score"], one["text"]) for one in passages] == [(one.score, one.text) for one in expected.passages]
        for one in passages:
            assert all(one["text"][match["start"] : match["end"]] == match["word"] for match in one["matches"])
    assert "passages" not in found_hits(served.search(query="the fox"))[0]
    assert "matches" not in found_hits(served.search(query="the fox", per_document=2, matches=False))[0]["passages"][0]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"by": "page"}, "by"),
        ({"per_document": 0}, "per_document"),
        ({"by": "passage", "per_document": 2}, "per_document"),
        ({"k": 501, "per_document": 2}, "k times per_document may be 1,000 at most, not 1,002"),
        ({"k": 1, "per_document": 10**9}, "per_document"),
    ],
)
def test_bad_units(shared: Served, body: dict[str, Any], sentence: str) -> None:
    answer = shared.search(query="the fox", **body)
    assert answer.status_code == 422, answer.text
    assert sentence in detail(answer)


def found_hits(answer: Any) -> Any:
    found(answer)
    return answer.json()["hits"]

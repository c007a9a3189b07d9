"""Long documents in a collection: stored as passages, found by the best one, known by one id."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import LARGEST, SMALLEST
from maxsieve.storage import id_column
from maxsieve.text.collection.collection import Collection
from maxsieve.text.passages import Keys
from text.support import ShortSighted, tree

GUIDE = "# Guide\n\n" + "\n\n".join(
    f"## Part {part}\nAbout {part} there is much to say. " + " ".join(f"{part}{i}" for i in range(24)) + "."
    for part in ("tea", "coffee", "water", "milk")
)


@pytest.fixture
def drinks(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "drinks", ShortSighted()) as collection:
        collection.add([GUIDE, "A short note on juice."], ["guide.md", "note"], [{"page": 1}, None])
        yield collection


@given(
    st.lists(st.one_of(st.text("a#p01i", max_size=8), st.integers(SMALLEST, LARGEST)), max_size=5),
    st.integers(0, 10**8),
)
def test_keys_are_told_apart_and_read_back(ids: list[str | int], number: int) -> None:
    keys = Keys(passages=True)
    pairs = [(one, place) for one in ids for place in (0, number)]
    made = {keys.key(*pair): pair for pair in pairs}
    assert len(made) == len({(type(one), one, place) for one, place in pairs})
    for key, pair in made.items():
        assert keys.parse(key) == pair
        assert type(keys.document(key)) is type(pair[0])


@given(st.lists(st.text("a#p0123i-", max_size=9), unique=True, min_size=1, max_size=20))
def test_documents_are_counted_by_their_first_passages(names: list[str]) -> None:
    keys, snapshot = Keys(passages=True), ms.Index.build([[[1.0]]] * len(names), names).storage.snapshot
    assert keys.count(snapshot) == len(list(keys.firsts(names)))
    numbered = ms.Index.build([[[1.0]]] * 2, [7, -1]).storage.snapshot
    assert keys.count(numbered) == 2


def test_passages_of_a_document_are_found_one_after_the_other(
    drinks: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Any] = []
    monkeypatch.setattr(
        id_column, "bisect_left", lambda *found, **by: searched.append(found[1]) or bisect_left(*found, **by)
    )
    drinks.add(["A text in between.", GUIDE], ["between", "again.md"])
    with Collection.open(drinks.path, ShortSighted()) as opened:
        searched.clear()
        assert opened.text("again.md") == GUIDE
        missing = f"again.md#p{len(opened.index) // 2 - 1}"  # there are two short texts, and the guide twice
        assert searched == [b"again.md", missing.encode()]
        assert [opened.text(one) for one in ("note", "guide.md", "between")] == [
            "A short note on juice.",
            GUIDE,
            "A text in between.",
        ]


def test_all_of_a_long_text_is_in(drinks: Collection) -> None:
    assert len(drinks) == 2
    assert drinks.ids == ["guide.md", "note"]
    assert drinks.text("guide.md") == GUIDE
    assert drinks.metadata("guide.md") == {"page": 1}
    assert len(drinks.index) > 4
    assert drinks.info()["passages"] == len(drinks.index)
    for part in ("tea", "coffee", "water", "milk"):
        hits = drinks.search(f"{part}20 {part}21")
        assert hits.ids == ["guide.md", "note"]
        hit = hits[0]
        assert f"{part}21" in hit.text
        assert GUIDE[hit.passage.start :].startswith(hit.text)
        assert hit.passage.heading == f"Guide > Part {part}"
        assert hit.metadata == {"page": 1}
        assert hits.n_documents == 2
        assert hits.report.guarantee == "exact"


def test_explain_counts_in_the_passage(drinks: Collection) -> None:
    hits = drinks.search("milk20 coffee")
    matches = {match.query: match for match in hits.explain(0)}
    found = matches["milk20"]
    assert hits[0].text[found.start : found.end] == "milk20"


def test_a_word_of_the_headings_is_nowhere_in_the_text(drinks: Collection) -> None:
    hits = drinks.search("guide milk23")
    found = {match.query: match for match in hits.explain(0)}["guide"]
    assert found.document.lower() == "guide"
    assert (found.start, found.end) == (0, 0)


def test_nothing_is_lost_that_no_split_would_lose(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "whole", ShortSighted(), split=False) as collection:
        collection.add([GUIDE], ["guide.md"])
        assert len(collection.index) == 1
        assert collection.index.ids == ["guide.md"]
        assert json.loads((tmp_path / "whole" / "collection.json").read_text())["version"] == 1


def test_adding_again_encodes_nothing(drinks: Collection) -> None:
    before = tree(drinks.path)
    encoder = ShortSighted()
    with Collection.open(drinks.path, encoder) as again:
        assert again.add([GUIDE, "A short note on juice."], ["guide.md", "note"], [{"page": 1}, None]) == (0, 2, 0)
    assert encoder.encoded == []
    assert tree(drinks.path) == before


def test_a_document_is_replaced_with_all_its_passages(drinks: Collection) -> None:
    with pytest.raises(ValueError, match=r"'guide\.md'.*text"):
        drinks.add([GUIDE + " And more."], ["guide.md"], [{"page": 1}])
    with pytest.raises(ValueError, match=r"'guide\.md'.*metadata"):
        drinks.add([GUIDE], ["guide.md"], [{"page": 2}])
    half = GUIDE[: len(GUIDE) // 2]
    assert drinks.add([half], ["guide.md"], replace=True).replaced == 1
    assert drinks.text("guide.md") == half
    assert set(drinks.ids) == {"guide.md", "note"}
    assert all("milk" not in text for text in drinks.search("milk20").texts)
    drinks.add(["Short now."], ["guide.md"], replace=True)
    assert set(drinks.index.ids) == {"guide.md", "note"}
    drinks.add([GUIDE], ["guide.md"], replace=True)
    assert drinks.text("guide.md") == GUIDE
    drinks.verify()


def test_a_document_is_deleted_with_all_its_passages(drinks: Collection) -> None:
    drinks.delete("guide.md")
    assert drinks.ids == drinks.index.ids == ["note"]
    assert "guide.md" not in drinks
    with pytest.raises(KeyError, match=r"'guide\.md'"):
        drinks.delete(["note", "guide.md"])
    assert drinks.ids == ["note"]


def test_k_counts_documents_whose_passages_crowd(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it", ShortSighted()) as collection:
        long = "\n\n".join(f"alpha beta gamma number {i} of all." for i in range(200))
        collection.add([long, *(f"something else {i} beta" for i in range(30))], range(31))
        hits = collection.search("alpha beta gamma", k=10)
        assert len(hits) == 10
        assert hits.ids[0] == 0
        assert len(set(hits.ids)) == 10


def test_the_answer_is_that_of_scoring_every_passage(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    texts = [
        ". ".join(" ".join(f"w{word}" for word in rng.integers(0, 60, 12)) for _ in range(rng.integers(1, 20)))
        for _ in range(40)
    ]
    encoder = ShortSighted()
    with Collection.create(tmp_path / "it", encoder, store="float32") as collection:
        collection.add(texts, range(40))
        assert len(collection.index) > 60
        for query in ("w1 w2 w3", "w7 w59", "w10 w11 w12 w13 w14"):
            documents = encoder.encode_documents([_encoded(collection, key) for key in collection.index.ids])
            scores = ms.maxsim(encoder.encode_queries([query]), documents)[0]
            best: dict[int | str, float] = {}
            for key, score in zip(collection.index.ids, scores.tolist(), strict=True):
                one = collection.keys.document(key)
                best[one] = max(best.get(one, -np.inf), score)
            places = {one: place for place, one in enumerate(collection.ids)}
            expected = sorted(best.items(), key=lambda item: (-item[1], places[item[0]]))[:7]
            found = list(collection.search(query, k=7))
            assert [score for _, score in found] == [score for _, score in expected]
            assert {one for one, _ in found[:6]} <= {one for one, score in best.items() if score >= expected[-1][1]}


def _encoded(collection: Collection, key: int | str) -> str:
    record = collection.index.metadata(key)
    heading = record["passage"][2] if "passage" in record else ""
    return f"{heading}\n{record['text']}" if heading else str(record["text"])


def test_candidates_and_exclusions_are_documents(drinks: Collection) -> None:
    assert drinks.search("milk20", candidates=["guide.md"]).ids == ["guide.md"]
    assert drinks.search("milk20", candidates=["guide.md"]).n_documents == 1
    assert drinks.search("milk20", exclude=["guide.md"]).ids == ["note"]
    assert drinks.search("milk20", candidates=np.array([False, True])).ids == ["note"]
    with pytest.raises(ValueError, match=r"^candidates\b.*\(5,\).*\b2\b"):
        drinks.search("milk20", candidates=np.ones(5, bool))
    with pytest.raises(KeyError, match=r"^.?candidates: .*'guide\.md#p1'"):
        drinks.search("milk20", candidates=["guide.md#p1"])


def test_bm25_names_documents(drinks: Collection) -> None:
    pytest.importorskip("bm25s")
    assert drinks.bm25("milk20 milk21", 5) == ["guide.md"]
    assert drinks.search("milk20 juice", first_stage="bm25").ids == ["guide.md", "note"]


@pytest.mark.parametrize("hybrid", ["rrf", 0.3])
def test_hybrid_search_fuses_scores_of_documents(drinks: Collection, hybrid: Literal["rrf"] | float) -> None:
    pytest.importorskip("bm25s")
    hits = drinks.search("milk20 milk21 juice", hybrid=hybrid)
    assert set(hits.ids) == {"guide.md", "note"}
    assert "milk20" in hits.texts[hits.ids.index("guide.md")]
    assert hits.hybrid is not None
    plain = dict(drinks.search("milk20 milk21 juice"))
    assert dict(zip(hits.ids, hits.hybrid.late.tolist(), strict=True)) == plain
    assert drinks.search("milk20 juice", hybrid=hybrid, exclude=["guide.md"]).ids == ["note"]


def test_calibrated_on_documents(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = [
        ". ".join(" ".join(f"w{word}" for word in rng.integers(0, 300, 12)) for _ in range(rng.integers(1, 9)))
        for _ in range(300)
    ]
    with Collection.create(tmp_path / "it", ShortSighted()) as collection:
        collection.add(texts)
        collection.calibrate([" ".join(f"w{word}" for word in rng.integers(0, 300, 4)) for _ in range(120)], k=10)
        hits = collection.search("w1 w2 w3", k=5, policy=ms.Calibrated(0.9))
        assert hits.report.guarantee == "calibrated"
        assert len(set(hits.ids)) == 5
        assert collection.search("w1 w2", k=5, policy=ms.Calibrated(0.9), exclude=hits.ids[:1]).report.guarantee in (
            "calibrated",
            "exact",
        )
        collection.compact()
        collection.recalibrate()
        assert collection.search("w1 w2 w3", k=5, policy=ms.Calibrated(0.9)).report.guarantee == "calibrated"


def test_rerank_reads_all_of_a_text(drinks: Collection) -> None:
    hits = drinks.rerank("milk20 milk21", ["nothing here", GUIDE])
    assert hits.ids == [1, 0]
    assert "milk21" in hits[0].text
    assert hits.n_documents == 2


def test_verify_misses_a_passage_that_is_gone(drinks: Collection) -> None:
    drinks.verify()
    drinks.index.delete(["guide.md#p2"])
    with pytest.raises(DamagedIndexError, match=r"passage\b.*'guide\.md'"):
        drinks.verify()
    with pytest.raises(DamagedIndexError, match=r"passage\b.*'guide\.md'"):
        drinks.text("guide.md")


def test_numbers_are_ids_of_long_documents_too(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it", ShortSighted()) as collection:
        collection.add([GUIDE, "short"], [7, -8])
        assert collection.ids == [7, -8]
        assert collection.search("milk20", k=1).ids == [7]
        assert 7 in collection
        assert "7" not in collection
        with pytest.raises(TypeError, match=r"'seven'.*\bint\b"):
            collection.add(["text"], ["seven"])
        collection.delete(7)
        assert collection.ids == [-8]


PLACES: list[Any] = [
    *([], [1, 0, "", None], [3, -1, "", None], [3, 0, None, None], "x", [3, 0, "", "1"], [3, 0, "", None, 1]),
    *([3, 0, "", None, "1", []], [3, 0, "", None, 1, {}], [3, 0, "", None, 1, [[0]]], [0, 0, "", None, 1, []]),
]


@pytest.mark.parametrize("passage", PLACES)
def test_a_record_that_does_not_know_its_place_is_damage(drinks: Collection, passage: object) -> None:
    drinks.index.add(
        [np.eye(1, 16, dtype=np.float32)], ["bad"], metadata=[{"text": "milk", "metadata": None, "passage": passage}]
    )
    with pytest.raises(DamagedIndexError, match="passage 'bad'"):
        drinks.verify()


@pytest.mark.parametrize("grows", [True, False])
def test_a_document_that_is_replaced_before_the_search_is_named_whole(
    drinks: Collection, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    before, after = (GUIDE[: len(GUIDE) // 2], GUIDE) if grows else (GUIDE, GUIDE[: len(GUIDE) // 2])
    answer = drinks.index.answer
    for options, found in (({"exclude": ["guide.md"]}, ["note"]), ({"candidates": ["guide.md"]}, ["guide.md"])):
        drinks.add([before], ["guide.md"], replace=True)
        monkeypatch.setattr(drinks.index, "answer", answer)
        expected = drinks.search("milk20", **options)
        waiting = [after]

        def late(*arguments: Any, waiting: list[str] = waiting, **others: Any) -> Any:
            while waiting:
                drinks.add([waiting.pop()], ["guide.md"], replace=True)
            return answer(*arguments, **others)

        monkeypatch.setattr(drinks.index, "answer", late)
        hits = drinks.search("milk20", **options)
        assert not waiting
        assert hits.ids == found
        assert (list(hits), hits.texts) == (list(expected), expected.texts), "all steps read the version before"

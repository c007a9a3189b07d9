"""First stages: only their candidates are searched, and the answer says so. BM25 follows the collection."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.text.collection.collection import Collection
from maxsieve.text.lexical.bm25 import BM25

from .support import WordEncoder, sentences

TEXTS = {
    "fox": "The fox and the grapes",
    "crow": "The fox and the crow: a fox that flatters",
    "hare": "The hare and the tortoise",
    "none": "",
    "lion": "The lion and the mouse",
}


@pytest.fixture
def fables(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "fables", WordEncoder(), dim=None) as collection:
        collection.add(TEXTS.values(), TEXTS)
        yield collection


def test_a_function_chooses_the_candidates(fables: Collection) -> None:
    asked: list[tuple[str, int]] = []

    def stage(query: str, depth: int) -> list[str]:
        asked.append((query, depth))
        return ["hare", "lion", "hare"]

    hits = fables.search("the fox", k=10, first_stage=stage, depth=7)
    assert asked == [("the fox", 7)]
    assert sorted(map(str, hits.ids)) == ["hare", "lion"]
    assert (hits.scope, hits.n_documents, hits.report.guarantee) == ("candidates", 2, "exact")
    expected = fables.search("the fox", candidates=["hare", "lion"])
    assert (hits.ids, hits.scores.tolist()) == (expected.ids, expected.scores.tolist())


def test_each_query_has_candidates_of_its_own(fables: Collection) -> None:
    chosen = {"fox": ["fox"], "mouse": ["lion", "hare"], "nothing": []}
    many = fables.search_many(list(chosen), first_stage=lambda query, _: chosen[query])
    assert [sorted(map(str, hits.ids)) for hits in many] == [["fox"], ["hare", "lion"], []]
    assert [hits.n_documents for hits in many] == [1, 2, 0]


@pytest.mark.parametrize(
    ("stage", "error", "sentence"),
    [
        (lambda query, depth: ["fox", "frog"], KeyError, "no document has the id 'frog'"),
        (lambda query, depth: [("fox", 1.5)], TypeError, "first_stage: an id must be a str or an int, not"),
        (lambda query, depth: None, TypeError, "first_stage must be a list of ids, not None"),
        ("tfidf", ValueError, "first_stage must be 'bm25' or a function of query and depth, not 'tfidf'"),
    ],
)
def test_bad_first_stages(fables: Collection, stage: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        fables.search("fox", first_stage=stage)
    assert sentence in str(caught.value)


def test_candidates_and_a_first_stage_exclude_each_other(fables: Collection) -> None:
    with pytest.raises(ValueError, match="not both"):
        fables.search("fox", candidates=["fox"], first_stage="bm25")
    for depth in (0, 2.5):
        with pytest.raises((ValueError, TypeError), match="depth"):
            fables.search("fox", first_stage="bm25", depth=depth)  # type: ignore[arg-type]


def test_bm25_finds_documents_by_their_words(fables: Collection) -> None:
    bm25 = fables.bm25
    assert bm25("Fox!", 10) == ["crow", "fox"], "the one with two foxes first"
    assert bm25("a mouse or a tortoise", 10) in (["hare", "lion"], ["lion", "hare"])
    assert bm25("a mouse or a tortoise", 1) == bm25("a mouse or a tortoise", 10)[:1]
    for nothing in ("", "the and", "zebra", "…"):
        assert bm25(nothing, 10) == []
    hits = fables.search("the fox", first_stage="bm25", exclude=["crow"])
    assert (hits.ids, hits.scope, hits.n_documents) == (["fox"], "candidates", 1)
    assert fables.search("zebra", first_stage="bm25").ids == []


def test_bm25_knows_a_word_in_its_other_forms(fables: Collection) -> None:
    fables.add(["Foxes running in the hills"], ["run"])
    assert set(fables.bm25("a fox", 10)) == {"crow", "fox", "run"}
    assert fables.bm25("who runs on a hill", 10) == ["run"]


def test_a_table_of_other_stems_is_never_used(fables: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    fables.add(["Foxes"], ["foxes"])
    with monkeypatch.context() as other:
        other.setattr("Stemmer.version", lambda: "0")
        other.setattr("Stemmer.Stemmer", lambda language: lambda words: words)
        assert fables.bm25("a fox", 10) == ["crow", "fox"]
    [table] = (fables.path / "bm25").iterdir()
    again = Collection.open(fables.path, WordEncoder())
    assert set(again.bm25("a fox", 10)) == {"crow", "fox", "foxes"}
    assert [path != table for path in (fables.path / "bm25").iterdir()] == [True], "the old one is gone"


def test_bm25_scores_as_bm25s_does(tmp_path: Path) -> None:
    import bm25s
    import Stemmer

    english = Stemmer.Stemmer("english")
    texts = [text.replace("w1", "working") for text in sentences(300)]
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=None)
    collection.add(texts, range(300))
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stemmer=english, show_progress=False), show_progress=False)
    for query in sentences(20, start=1000):
        words = bm25s.tokenize([query], stemmer=english, return_ids=False, show_progress=False)[0]
        scores = retriever.get_scores(words)
        expected = sorted(range(300), key=lambda i: (-scores[i], i))
        assert collection.bm25(query, 25) == [i for i in expected if scores[i] > 0][:25]


def test_bm25_follows_the_collection(fables: Collection) -> None:
    held = fables.bm25
    fables.delete("crow")
    assert held("fox", 10) == fables.bm25("fox", 10) == ["fox"]
    fables.add(["The fox without a tail"], ["tail"])
    assert held("fox", 10) == ["fox", "tail"]
    fables.add(["The cat"], ["fox"], replace=True)
    assert held("fox", 10) == ["tail"]
    fables.compact()
    assert held("cat", 10) == ["fox"]
    fables.delete(fables.ids)
    assert held("cat", 10) == []
    assert fables.search("cat", first_stage="bm25").ids == []


def test_the_table_is_kept_and_replaced(fables: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = BM25._make
    monkeypatch.setattr(BM25, "_make", lambda self, state: made.append(len(state.live)) or make(self, state))
    first = fables.bm25("fox", 10)
    assert made == [5]
    again = Collection.open(fables.path, WordEncoder())
    assert again.bm25("fox", 10) == first
    assert made == [5], "read from the folder"
    [table] = (fables.path / "bm25").iterdir()
    again.delete("fox")
    assert again.bm25("fox", 10) == ["crow"]
    assert made == [5, 4]
    assert [path != table for path in (fables.path / "bm25").iterdir()] == [True], "the old one is gone"
    assert fables.bm25("fox", 10) == first, "a reader at the older version still has its own"


def test_a_damaged_table_is_made_again(fables: Collection) -> None:
    expected = fables.bm25("fox", 10)
    [table] = (fables.path / "bm25").iterdir()
    content = table.read_bytes()
    for size in (0, 100, len(content) // 2, len(content) - 1):
        table.unlink()  # the current one is mapped
        table.write_bytes(content[:size])
        assert Collection.open(fables.path, WordEncoder()).bm25("fox", 10) == expected, size
        assert table.read_bytes() == content, "and kept again"


def test_a_folder_that_cannot_be_written_to_can_be_searched(
    fables: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    assert fables.search("fox", first_stage="bm25", k=1).ids
    assert not list((fables.path / "bm25").iterdir()), "nothing is left lying about"


def test_bm25_is_quiet(fables: Collection, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    fables.search("fox", first_stage="bm25")
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelname != "DEBUG"] == []


@pytest.mark.parametrize("package", ["bm25s", "Stemmer"])
def test_without_its_packages_the_extra_is_named(
    fables: Collection, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'maxsieve\[text\]'"):
        fables.search("fox", first_stage="bm25")


def test_the_guarantee_among_candidates_is_that_of_exhaustive_scoring(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=6)
    collection.add(sentences(400), range(400))
    for query in sentences(10, start=2000):
        sieved = collection.search(query, first_stage="bm25", depth=30)
        plain = collection.search(query, first_stage="bm25", depth=30, policy=ms.Exhaustive())
        assert sieved.ids == plain.ids
        assert np.array_equal(sieved.scores, plain.scores)
        assert sieved.n_documents == min(30, len(collection.bm25(query, 30)))


def test_a_document_that_is_added_while_the_first_stage_looks_can_be_named(fables: Collection) -> None:
    waiting = ["a new fox"]

    def stage(query: str, depth: int) -> list[str]:
        while waiting:
            fables.add([waiting.pop()], ["new"])
        return ["new"]

    assert fables.search("fox", first_stage=stage).ids == ["new"]
    with pytest.raises(KeyError, match="gone"):
        fables.search("fox", first_stage=lambda query, depth: ["gone"])

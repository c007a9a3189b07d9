"""Collections are calibrated on queries or on their own sentences. Answers say on which, and what that guarantees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.sentences import draw_sentences, own_sentences, sentences_of
from maxsieve.text.lexical.bm25 import BM25

from .support import WordEncoder, sentences, tree

DOCUMENTS, QUERIES = 400, 120


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8") as made:
        made.add(sentences(DOCUMENTS), range(DOCUMENTS))
        yield made


def queries(count: int = QUERIES) -> list[str]:
    return [" ".join(text.split()[1:]) for text in sentences(count, start=5000)]


def test_queries_become_a_calibration(collection: Collection) -> None:
    collection.calibrate(iter(queries()), k=20)
    assert collection.info()["calibration"] == {
        "calibrated_on": "queries",
        "queries": QUERIES,
        "k": 20,
        "documents": DOCUMENTS,
        "made": pytest.approx(time.time(), abs=100),
        "added": 0,
        "deleted": 0,
        "holds": True,
    }
    assert collection.info()["codebook"]["centroids"] == 2048
    kept = collection.index.storage.snapshot.calibration
    assert kept is not None
    for rows, expected in zip(kept.queries, WordEncoder().encode_queries(queries()), strict=True):
        np.testing.assert_array_equal(rows, expected)


def test_calibrated_answers(collection: Collection) -> None:
    collection.calibrate(queries(), k=20)
    texts = queries(QUERIES + 50)[QUERIES:]
    policy = ms.Calibrated(overlap=0.9)
    many = collection.search_many(texts, k=5, policy=policy)
    for text, hits in zip(texts, many, strict=True):
        alone = collection.search(text, k=5, policy=policy)
        assert (alone.ids, alone.scores.tolist()) == (hits.ids, hits.scores.tolist())
        report = hits.report
        assert (report.guarantee, report.calibrated_on, report.added, report.deleted) == ("calibrated", "queries", 0, 0)
        assert 5 <= report.survivors < hits.n_documents == DOCUMENTS
        assert hits.scope == "all"
    exact = collection.search_many(texts, k=5)
    overlap = np.mean([len({*a.ids} & {*b.ids}) / 5 for a, b in zip(many, exact, strict=True)])
    assert overlap >= 0.85, "it promises 0.9 on average; these are 50 queries"


def test_a_filter_has_its_own_calibration(tmp_path: Path) -> None:
    where, policy = {"n": {"lt": 3}}, ms.Calibrated(0.9)
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8") as collection:
        collection.add(sentences(DOCUMENTS), range(DOCUMENTS), metadata=[{"n": i % 5} for i in range(DOCUMENTS)])
        collection.calibrate(queries(), k=10, where=where)
        assert not collection.calibrated
        assert collection.info()["calibration"] is None
        expected = {"where": where, "calibrated_on": "queries", "queries": QUERIES, "k": 10, "documents": 240}
        assert collection.info()["calibrated_filters"] == [expected]
        asked = queries(QUERIES + 50)[QUERIES:]
        many = collection.search_many(asked, k=5, policy=policy, where=where)
        assert {(hits.report.guarantee, *hits.report.calibrated_for) for hits in many} == {("calibrated", "n")}
        exact = collection.search_many(asked, k=5, where=where)
        assert np.mean([len({*a.ids} & {*b.ids}) / 5 for a, b in zip(many, exact, strict=True)]) >= 0.85
        assert collection.search("w1", policy=policy, where={"n": 4}).report.guarantee == "exact"
        with pytest.raises(ValueError, match="not calibrated"):
            collection.search("w1", policy=policy)
        collection.add(sentences(10, start=900), range(900, 910), metadata=[{"n": 0}] * 10)
        collection.recalibrate()
        assert collection.info()["calibrated_filters"] == [{**expected, "documents": 250}]


def test_own_sentences_of_documents_that_match_a_filter(collection: Collection) -> None:
    collection.add(["the only red fox of this wood"] * 2, [900, 901], metadata=[{"kind": "fox"}] * 2)
    collection.calibrate(k=1, where={"kind": "fox"})
    [kept] = collection.index.storage.snapshot.calibrations
    assert (kept.origin, kept.n_queries, kept.documents) == ("own sentences", 1, 2)
    for where, wrong in (({"kind": "owl"}, "no documents match the filter"), ({"kind": {"near": 1}}, "near")):
        with pytest.raises(ValueError, match=wrong):
            collection.calibrate(k=1, where=where)


def test_own_sentences(collection: Collection) -> None:
    collection.calibrate(k=10)
    hits = collection.search("w1 w2 w3", k=5, policy=ms.Calibrated())
    assert (hits.report.calibrated_on, hits.report.guarantee) == ("own sentences", "calibrated on sentences")
    assert collection.info()["calibration"]["queries"] == 200


def test_own_sentences_are_the_same_each_time_and_spread_over_documents(collection: Collection) -> None:
    drawn = own_sentences(collection.index.storage.snapshot)
    assert drawn == own_sentences(collection.index.storage.snapshot)
    assert len({*drawn}) == len(drawn) == 200
    whole = dict(zip(sentences(DOCUMENTS), range(DOCUMENTS), strict=True))
    places = [whole[text] for text in drawn]
    assert min(places) < DOCUMENTS // 10
    assert max(places) > DOCUMENTS * 9 // 10


def test_few_documents_give_few_sentences(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8")
    collection.add(["One sentence is here now. And here is the second one.", "Too short.", "This one is long enough."])
    collection.calibrate()
    assert collection.info()["calibration"]["queries"] == 2, "one of each document that has one"
    with pytest.raises(ValueError, match=r"0\.99\D+99\D+2\b"):
        collection.search("one", k=1, policy=ms.Calibrated())


def test_a_sentence_without_a_token_is_left_out(tmp_path: Path) -> None:
    class OnlyFoxes(WordEncoder):
        def encode_queries(self, texts: Any) -> Any:
            return super().encode_queries([text if "fox" in text else "" for text in texts])

        def encode_documents(self, texts: Any, *, progress: bool = False) -> Any:
            return WordEncoder().encode_documents(texts)

    collection = Collection.create(tmp_path / "c", OnlyFoxes(), dim=None, store="int8")
    collection.add(["A red fox went by.", "A grey owl sat there."])
    collection.calibrate()
    assert collection.info()["calibration"]["queries"] == 1


def test_what_a_sentence_is() -> None:
    words = " ".join(["word"] * 40)
    assert sentences_of(f"{words}. {words} more. Three words only. {words}") == [f"{words}.", words]
    assert sentences_of("- - - -\n... ... ... ...\na b c d\r\ne f g h") == ["a b c d", "e f g h"]
    assert sentences_of('He said "it is too late!" Then he left the house.') == [
        'He said "it is too late!',
        "Then he left the house.",
    ]
    assert sentences_of("") == []
    assert list(draw_sentences(["a b c d"] * 5 + ["e f g h", "i j k l"], wanted=2)) == ["a b c d", "e f g h"]


def test_sentences_of_hostile_texts_take_no_time() -> None:
    for text in (".'" * 200_000, "-" * 400_000, "." + "'" * 400_000, ". " * 200_000, "\n" * 400_000):
        assert sentences_of(text) == []


def test_deleted_documents_and_empty_ones_give_no_sentence(collection: Collection) -> None:
    collection.delete(range(1, DOCUMENTS))
    collection.add([""], [DOCUMENTS])
    assert own_sentences(collection.index.storage.snapshot) == sentences(1)


def test_recalibrate_takes_what_it_kept(collection: Collection) -> None:
    with pytest.raises(ValueError, match=r"calibrate\("):
        collection.recalibrate()
    collection.calibrate(k=10)
    collection.add(sentences(60, start=DOCUMENTS), range(DOCUMENTS, DOCUMENTS + 60))
    collection.delete(3)
    hits = collection.search("w1 w2", k=5, policy=ms.Calibrated())
    assert (hits.report.guarantee, hits.report.added, hits.report.deleted) == ("calibrated on sentences", 60, 1)
    assert collection.info()["calibration"]["holds"] is True
    collection.recalibrate()
    hits = collection.search("w1 w2", k=5, policy=ms.Calibrated())
    assert (hits.report.guarantee, hits.report.added, hits.report.deleted) == ("calibrated on sentences", 0, 0)
    assert hits.report.calibrated_on == "own sentences"


def test_it_is_kept_and_seen_by_others(collection: Collection) -> None:
    reader = Collection.open(collection.path, WordEncoder())
    collection.calibrate(queries(), k=10)
    with pytest.raises(ValueError, match=r"calibrate\(\)"):
        reader.search("w1", policy=ms.Calibrated())
    reader.refresh()
    assert (
        reader.search("w1", k=5, policy=ms.Calibrated()).ids == collection.search("w1", k=5, policy=ms.Calibrated()).ids
    )
    collection.verify()


def test_own_sentences_are_those_of_the_newest_version(collection: Collection) -> None:
    other = Collection.open(collection.path, WordEncoder())
    collection.delete(range(2, DOCUMENTS))
    other.calibrate()
    assert other.info()["calibration"]["queries"] == 2
    collection.refresh()
    collection.delete([0])
    with pytest.raises(ValueError, match=r"sentences.*documents"):
        other.calibrate()


BAD: dict[str, tuple[type[Exception], Any]] = {
    "calibrate takes a list of texts, not 'one text'": (TypeError, "one text"),
    "calibrate takes a list of texts, not 7": (TypeError, 7),
    "query 1 is int, not str": (TypeError, ["one", 7]),
    "query 0 is bytes, not str": (TypeError, [b"one"]),
    "the list of queries is empty": (ValueError, []),
    "query 2 is ' '": (ValueError, ["one", "two", " "]),
    "query 70 is '...'": (ValueError, ["one"] * 70 + ["..."]),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_queries_are_named_and_change_nothing(collection: Collection, sentence: str) -> None:
    error, given = BAD[sentence]
    before = tree(collection.path)
    with pytest.raises(error) as caught:
        collection.calibrate(given)
    assert sentence in str(caught.value)
    assert tree(collection.path) == before
    for k in (0, 2.5):
        with pytest.raises((ValueError, TypeError), match=r"^k\b"):
            collection.calibrate(["one"], k=k)  # type: ignore[arg-type]


def test_an_empty_text_is_refused_whatever_the_encoder_makes_of_it(tmp_path: Path) -> None:
    class Marking(WordEncoder):
        def encode_queries(self, texts: Any) -> Any:
            return super().encode_queries([f"mark {text}" for text in texts])

    collection = Collection.create(tmp_path / "c", Marking(), dim=None, store="int8")
    collection.add(["a red fox went by"])
    with pytest.raises(ValueError, match="query 1 is ''"):
        collection.calibrate(["fox", ""])


def test_a_collection_without_tokens_can_not_be_calibrated(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=4, store="int8")
    for given in (None, ["one"]):
        with pytest.raises(ValueError, match="token"):
            collection.calibrate(given)
    short = sentences(30)
    collection.add([" ".join(text.split()[:3]) for text in short])
    with pytest.raises(ValueError, match=r"sentence\b.*\b4\b.*\b40\b"):
        collection.calibrate()
    collection.calibrate(["w1"], k=1)
    assert collection.info()["calibration"]["queries"] == 1, "projected, as its documents are"


def test_before_calibration_it_says_what_is_missing(collection: Collection) -> None:
    with pytest.raises(ValueError, match=r"calibrate\("):
        collection.search("w1", policy=ms.Calibrated())
    with pytest.raises(ValueError, match=r"^rerank.*Calibrated"):
        collection.rerank("w1", ["w1", "w2"], policy=ms.Calibrated())


def test_candidates_are_searched_exactly(collection: Collection) -> None:
    collection.calibrate(queries(), k=20)
    few, many = list(range(8)), list(range(300))
    exact = collection.search("w1 w2", k=5, policy=ms.Calibrated(), first_stage=lambda _, depth: few)
    assert (exact.report.guarantee, exact.scope, exact.report.survivors) == ("exact", "candidates", 8)
    found = collection.search("w1 w2", k=5, policy=ms.Calibrated(0.5), first_stage=lambda _, depth: many)
    assert (found.report.guarantee, found.scope, found.first_stage) == ("exact", "candidates", "a function")
    assert found.report.survivors == 300


def test_a_calibration_leaves_the_table_of_words_alone(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bm25s")
    made: list[int] = []
    make = BM25._make
    monkeypatch.setattr(BM25, "_make", lambda self, state: made.append(len(state.live)) or make(self, state))
    expected = collection.bm25("w1 w2", 10)
    collection.calibrate(queries(20), k=5)
    assert collection.bm25("w1 w2", 10) == expected
    assert Collection.open(collection.path, WordEncoder()).bm25("w1 w2", 10) == expected
    collection.index.train_codebook()
    collection.recalibrate()
    assert Collection.open(collection.path, WordEncoder()).bm25("w1 w2", 10) == expected
    assert made == [DOCUMENTS]
    collection.add(["w1 w2"], [-1])
    assert collection.bm25("w1 w2", 10)[0] == -1
    assert made == [DOCUMENTS, DOCUMENTS + 1]


@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_every_store_can_be_calibrated(tmp_path: Path, store: Any) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=None, store=store)
    collection.add(sentences(100))
    collection.calibrate(queries(30), k=5)
    again = Collection.open(collection.path, WordEncoder())
    assert again.info()["store"] == store
    hits = again.search("w1 w2", k=3, policy=ms.Calibrated(0.9))
    assert hits.report.guarantee == "calibrated"
    assert again.search(sentences(1)[0], k=1, policy=ms.Calibrated(0.9)).texts == sentences(1)

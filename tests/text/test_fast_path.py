"""Without a policy, texts are searched exactly if that is quick, and else by a calibration that holds and helps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maxsieve as ms
from maxsieve.options import SearchOptions
from maxsieve.text.collection import fast_path
from maxsieve.text.collection.answers import guarantee_sentence
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.fast_path import PROMISED, FollowUp, Outlook

from .support import WordEncoder, sentences

DOCUMENTS = 400


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A calibrated collection that no test changes."""
    with Collection.create(tmp_path_factory.mktemp("whole") / "c", WordEncoder(), dim=None, store="int8") as made:
        made.add(sentences(DOCUMENTS), range(DOCUMENTS), metadata=[{"n": i % 5} for i in range(DOCUMENTS)])
        made.calibrate(k=20)
        yield made


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an exact search took long, and every saving counted."""
    monkeypatch.setattr(fast_path, "QUICK", 0.0)
    monkeypatch.setattr(fast_path, "SAVING", 1)


def guarantee_of(collection: Collection, **options: Any) -> str:
    return collection.search(sentences(1, start=900)[0], **{"k": 5, **options}).report.guarantee


def test_a_quick_search_is_exact(whole: Collection) -> None:
    assert guarantee_of(whole) == "exact"


@pytest.mark.usefixtures("slow")
def test_a_slow_search_is_calibrated_and_says_so(whole: Collection) -> None:
    text = sentences(1, start=900)[0]
    hits, asked_for = whole.search(text, k=5), whole.search(text, k=5, policy=ms.Calibrated(0.99))
    assert hits.report.guarantee == "calibrated on sentences"
    assert (hits.ids, hits.scores.tolist()) == (asked_for.ids, asked_for.scores.tolist())
    assert hits.report.survivors == asked_for.report.survivors < DOCUMENTS
    assert "calibrated on sentences: at least 99 % of the true top 5" in guarantee_sentence(hits)
    assert [found.report.guarantee for found in whole.search_many([text, text], k=5)] == [hits.report.guarantee] * 2
    assert guarantee_of(whole, by="passage") == "calibrated on sentences"


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "options",
    [
        {"policy": "exact"},
        {"policy": ms.Certified()},
        {"where": {"n": 1}},
        {"candidates": [*range(50)]},
        {"k": 21},
        {"k": 15, "exclude": [*range(10)]},
        {"hybrid": 0.3},
        {"hybrid": "rrf"},
        {"first_stage": lambda text, depth: range(60)},
    ],
)
def test_what_a_calibration_does_not_cover_is_exact(whole: Collection, options: dict[str, Any]) -> None:
    assert guarantee_of(whole, **options) == "exact"


@pytest.mark.usefixtures("slow")
def test_a_query_unlike_the_sentences_is_exact(whole: Collection) -> None:
    [usual] = sentences(1, start=900)
    texts = [usual.split()[0], usual, " ".join([usual] * 20), usual]
    expected = ["exact", "calibrated on sentences", "exact", "calibrated on sentences"]
    together = whole.search_many(texts, k=5)
    assert [hits.report.guarantee for hits in together] == expected
    for text, hits in zip(texts, together, strict=True):
        alone = whole.search(text, k=5)
        assert (alone.ids, alone.scores.tolist(), alone.query) == (hits.ids, hits.scores.tolist(), text)
    each = whole.search_many(texts, k=5, exclude=[[0], None, [1], None])
    assert [hits.report.guarantee for hits in each] == expected


@pytest.mark.usefixtures("slow")
def test_vectors_are_searched_exactly(whole: Collection) -> None:
    rows = WordEncoder().encode_queries(sentences(1))[0]
    assert whole.index.search(rows).report.guarantee == "exact"
    assert SearchOptions().policy is None


def test_a_calibration_that_leaves_few_alone_is_not_used(whole: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "QUICK", 0.0)
    found = FollowUp.find(SearchOptions(5), whole.index.storage.snapshot, 1, whole.keys.group_by)
    assert found is not None
    assert found.of == DOCUMENTS
    for saving, expected in ((found.of // found.passages, PROMISED), (found.of // found.passages + 1, ms.Certified())):
        monkeypatch.setattr(fast_path, "SAVING", saving)
        snapshot, length = whole.index.storage.snapshot, len(WordEncoder().encode_queries(sentences(1))[0])
        assert fast_path.default_policies(SearchOptions(5), snapshot, [length], whole.keys.group_by) == [expected]


@pytest.mark.usefixtures("slow")
def test_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8") as collection:
        collection.add(sentences(DOCUMENTS), range(DOCUMENTS))
        assert guarantee_of(collection) == "exact", "it is not calibrated"
        collection.calibrate([" ".join(text.split()[1:]) for text in sentences(20, start=5000)], k=20)
        assert guarantee_of(collection) == "exact", "20 queries are too few for 0.99"
        collection.calibrate([" ".join(text.split()[1:]) for text in sentences(120, start=5000)], k=20)
        assert guarantee_of(collection) == "calibrated"
        monkeypatch.setattr(fast_path, "SAVING", 2)
        before = FollowUp.find(SearchOptions(5), collection.index.storage.snapshot, 1, collection.keys.group_by)
        assert before is not None
        assert before.is_few
        collection.add(sentences(DOCUMENTS, start=9000), range(1000, 1000 + DOCUMENTS))
        assert guarantee_of(collection) == "exact", "half of all documents are new, and would be followed up"
        collection.recalibrate()
        assert guarantee_of(collection) == "calibrated"


def test_a_filter_that_was_calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8") as collection:
        collection.add(sentences(DOCUMENTS), range(DOCUMENTS), metadata=[{"n": i % 2} for i in range(DOCUMENTS)])
        collection.calibrate(k=20, where={"n": 1})
        monkeypatch.setattr(fast_path, "SAVING", 1)
        monkeypatch.setattr(fast_path, "QUICK", 0.0)
        assert guarantee_of(collection) == "exact"
        assert guarantee_of(collection, where={"n": 0}) == "exact"
        assert guarantee_of(collection, where={"n": 1}) == "calibrated on sentences"
        numbers = collection.index.tokens * collection.index.dim
        monkeypatch.setattr(fast_path, "QUICK", 1.0)
        for half, expected in ((0.4, "calibrated on sentences"), (0.6, "exact")):
            monkeypatch.setattr(fast_path, "NUMBERS", half * numbers)  # half of the documents match
            assert guarantee_of(collection, where={"n": 1}) == expected


def test_the_outlook_is_by_counts(whole: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = whole.index.storage.snapshot
    numbers = snapshot.n_tokens * snapshot.layout.dim
    outlook = Outlook.of(snapshot)
    assert outlook.milliseconds == numbers / fast_path.NUMBERS
    assert not outlook.pays
    monkeypatch.setattr(fast_path, "NUMBERS", numbers / (2 * fast_path.QUICK))
    assert not Outlook.of(snapshot).pays, "there are too few documents"
    monkeypatch.setattr(fast_path, "EXPECTED", DOCUMENTS // fast_path.SAVING)
    assert Outlook.of(snapshot).pays
    monkeypatch.setattr(fast_path, "NUMBERS", numbers / fast_path.QUICK)
    assert not Outlook.of(snapshot).pays, "an exact search is quick"

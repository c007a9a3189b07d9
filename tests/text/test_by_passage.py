"""Search by passage, and documents with several passages: compared with scores of every passage."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve.ids import Id
from maxsieve.text.collection.answers import guarantee_sentence, to_plain
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from text.support import ShortSighted

WORDS = 120


def long_text(number: int) -> str:
    rng = np.random.default_rng(number)
    sentences = [" ".join(f"w{word}" for word in rng.integers(0, WORDS, 9)) for _ in range(rng.integers(0, 22))]
    return "\n\n".join([f"n{number}", *sentences])


TEXTS = [*map(long_text, range(30)), "w1 w2", "w1 w2", ""]
IDS = [f"d{number}" for number in range(len(TEXTS))]
"""Some have one passage, others about ten; two have the same text, one has no token."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.create(tmp_path_factory.mktemp("by") / "c", ShortSighted(), store="int8") as made:
        made.add(TEXTS, IDS, [{"even": number % 2 == 0} for number in range(len(TEXTS))])
        assert len(made.index) > 3 * len(made)
        yield made


@functools.cache
def vectors_of(collection: Collection) -> dict[Id, NDArray[np.float32]]:
    return {key: collection.index.vectors(key).astype(np.float32) for key in collection.index.ids}


def every_passage(collection: Collection, query: str, among: set[str]) -> list[tuple[str, str, float]]:
    """The definition: every passage of these documents, best first, as document, passage and score."""
    known = vectors_of(collection).items()
    pairs = [(key, rows) for key, rows in known if len(rows) and collection.keys.document(key) in among]
    [rows] = collection.encoder.encode_queries([query])
    scores = ms.maxsim([rows], [own for _, own in pairs])[0].tolist() if pairs else []
    ranked = sorted(zip(scores, range(len(pairs)), strict=True), key=lambda one: (-one[0], one[1]))
    return [(str(collection.keys.document(pairs[i][0])), str(pairs[i][0]), score) for score, i in ranked]


def found(hits: TextHits) -> list[tuple[str, str, float]]:
    return [(str(hit.id), str(hit.passage_id), hit.score) for hit in hits]


QUERY = st.lists(st.integers(0, WORDS), min_size=1, max_size=6).map(lambda words: " ".join(f"w{one}" for one in words))
SOME = st.sets(st.sampled_from(IDS))


@given(QUERY, st.integers(1, 60), SOME | st.none(), SOME, st.booleans(), st.sampled_from(["exact", "exhaustive"]))
@settings(deadline=None, max_examples=60)
def test_k_counts_passages(
    collection: Collection,
    query: str,
    k: int,
    candidates: set[str] | None,
    exclude: set[str],
    even: bool,
    policy: str,
) -> None:
    where = {"even": True} if even else None
    among = (set(IDS) if candidates is None else candidates) - exclude
    among = {one for one in among if not even or int(one[1:]) % 2 == 0}
    hits = collection.search(query, k, by="passage", candidates=candidates, exclude=exclude, where=where, policy=policy)
    assert found(hits) == every_passage(collection, query, among)[:k]
    assert (hits.report.guarantee, hits.by, hits.n_documents) == ("exact", "passage", len(among))
    assert hits.n_passages == sum(collection.keys.document(key) in among for key in collection.index.ids)
    for hit in hits:
        text = collection.text(hit.id)
        assert text[hit.passage.start :].startswith(hit.text)


@given(QUERY, st.integers(1, 40), st.integers(2, 30), SOME)
@settings(deadline=None, max_examples=40)
def test_a_document_has_its_best_passages(
    collection: Collection, query: str, k: int, per_document: int, exclude: set[str]
) -> None:
    hits = collection.search(query, k, per_document=per_document, exclude=exclude)
    plain = collection.search(query, k, exclude=exclude)
    assert list(hits) == list(plain)
    for hit in hits:
        assert found(hit.passages) == every_passage(collection, query, {str(hit.id)})[:per_document]
        best = hit.passages[0]
        assert (best.text, best.score, best.passage) == (hit.text, hit.score, hit.passage)
        assert best.explain() == hit.explain()
        assert hit.passages.report.guarantee == "exact"


@pytest.mark.parametrize("options", [{}, {"hybrid": "rrf"}, {"hybrid": 0.4}, {"first_stage": "bm25", "depth": 9}])
def test_many_queries_are_answered_as_each_alone(collection: Collection, options: dict[str, Any]) -> None:
    queries = ["w1 w2 w3", "w7", "w100 w20 w5 w6"]
    for unit in ({"by": "passage"}, {"per_document": 3}):
        many = collection.search_many(queries, 7, **unit, **options)  # type: ignore[arg-type]
        for query, hits in zip(queries, many, strict=True):
            alone = collection.search(query, 7, **unit, **options)  # type: ignore[arg-type]
            assert found(hits) == found(alone)
            assert [found(hit.passages) for hit in hits] == [found(hit.passages) for hit in alone]


@pytest.mark.parametrize("depth", [1, 5, 40])
def test_bm25_chooses_passages(collection: Collection, depth: int) -> None:
    query = "w3 w14 w15"
    [words] = collection.bm25.scores([query], keys=collection.keys.flat)
    assert words.ids == collection.index.ids
    order = np.argsort(-words.scores, kind="stable")[:depth]
    chosen = {words.ids[place] for place in order.tolist() if words.scores[place] > 0}
    hits = collection.search(query, 1000, by="passage", first_stage="bm25", depth=depth)
    assert [one for one in every_passage(collection, query, set(IDS)) if one[1] in chosen] == found(hits)
    assert (hits.scope, hits.n_passages, hits.report.guarantee) == ("candidates", len(chosen), "exact")


def test_a_function_chooses_documents_and_all_their_passages_count(collection: Collection) -> None:
    hits = collection.search("w3 w4", 1000, by="passage", first_stage=lambda query, depth: ["d3", "d4"])
    assert found(hits) == every_passage(collection, "w3 w4", {"d3", "d4"})
    even = collection.search(
        "w3 w4", 1000, by="passage", first_stage=lambda query, depth: ["d3", "d4"], where={"even": True}
    )
    assert found(even) == every_passage(collection, "w3 w4", {"d4"})


@given(QUERY, st.floats(0.05, 0.95), st.integers(1, 20))
@settings(deadline=None, max_examples=30)
def test_hybrid_passages_are_the_best_by_the_weighted_sum(
    collection: Collection, query: str, weight: float, k: int
) -> None:
    hits = collection.search(query, k, by="passage", hybrid=weight)
    every = every_passage(collection, query, set(IDS))
    late = {key: score for _, key, score in every}
    [words] = collection.bm25.scores([query], keys=collection.keys.flat)
    bm25 = {str(key): float(score) for key, score in zip(words.ids, words.scores, strict=True)}
    first, far = every[0][2], every[:100][-1][2]
    most = max(bm25.values()) or 1
    fused = {
        key: (1 - weight) * ((late[key] - far) / (first - far) if first > far else late[key] - first)
        + weight * (bm25[key] / most)
        for key in late
    }
    places = {str(key): place for place, key in enumerate(collection.index.ids)}
    best = sorted(fused, key=lambda key: (-fused[key], places[key]))[:k]
    assert [str(hit.passage_id) for hit in hits] == best
    assert hits.scores.tolist() == np.float32([fused[key] for key in best]).tolist()
    assert hits.hybrid is not None
    assert hits.hybrid.late.tolist() == [late[key] for key in best]


def test_a_calibration_is_about_documents_and_passages(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    with Collection.create(tmp_path / "it", ShortSighted(), store="int8") as collection:
        collection.add([long_text(number) for number in range(200)])
        collection.calibrate([" ".join(f"w{word}" for word in rng.integers(0, WORDS, 4)) for _ in range(120)], k=10)
        policy = ms.Calibrated(0.9)
        assert collection.search("w1 w2 w3", k=5, policy=policy).report.guarantee == "calibrated"
        hits = collection.search("w1 w2 w3", k=5, policy=policy, by="passage")
        assert hits.report.guarantee == "calibrated"
        assert "of the true top 5 passages on average" in guarantee_sentence(hits, policy)


def test_what_was_searched_is_named(collection: Collection) -> None:
    passages = len(collection.index)
    by = collection.search("w1", by="passage")
    assert guarantee_sentence(by) == f"exact among {passages} passages of {len(IDS)} documents"
    assert guarantee_sentence(collection.search("w1")) == f"exact among {len(IDS)} documents"
    few = collection.search("w1", by="passage", first_stage="bm25", depth=3)
    assert guarantee_sentence(few) == "exact among 3 candidate passages of bm25"
    assert to_plain(by)["report"]["passages"] == passages
    assert "passages" not in to_plain(collection.search("w1"))["report"]


def test_hits_arrive_with_their_passages(collection: Collection) -> None:
    for options in ({"by": "passage"}, {"per_document": 4}, {"per_document": 4, "hybrid": 0.3}):
        hits = collection.search("w1 w2 w3", 6, **options)  # type: ignore[arg-type]
        other = pickle.loads(pickle.dumps(hits))
        for one, two in ((hits, other), (hits[2:5], other[2:5]), (hits[::-1], other[::-1])):
            assert found(one) == found(two)
            assert [found(hit.passages) for hit in one] == [found(hit.passages) for hit in two]
            assert [hit.passages[-1].explain() for hit in one] == [hit.passages[-1].explain() for hit in two]


def test_an_index_with_groups_finds_documents_of_any_group() -> None:
    rows = [[[3.0]], [[2.0]], [[1.0]]]
    index = ms.Index.build(rows, ["a/0", "a/1", "b/0"], group_by=lambda id: str(id)[0])
    assert index.search([[1.0]], k=2).ids == ["a/0", "b/0"]
    assert index.search([[1.0]], k=2, by="passage").ids == ["a/0", "a/1"]
    with pytest.raises(ValueError, match="per_document"):
        index.search([[1.0]], per_document=2)


def test_a_collection_without_passages_has_documents_only(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it", ShortSighted(), split=False) as whole:
        whole.add(["w1 w2", "w2 w3"], [1, 2])
        by = whole.search("w2 w3", by="passage")
        assert list(by) == list(whole.search("w2 w3"))
        assert [hit.passage_id for hit in by] == by.ids == [2, 1]
        assert [len(hit.passages) for hit in whole.search("w2 w3", per_document=3)] == [1, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"by": "page"}, "by must be 'document' or 'passage', not 'page'"),
        ({"by": None}, "by must be"),
        ({"per_document": 0}, "per_document"),
        ({"by": "passage", "per_document": 2}, "per_document is 2, but passages"),
    ],
)
def test_bad_options(collection: Collection, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        collection.search("w1", **options)


def test_no_documents_no_passages(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it", ShortSighted()) as empty:
        assert len(empty.search("w1", by="passage")) == 0
        assert len(empty.search("w1", per_document=3)) == 0
        assert [len(hits) for hits in empty.search_many(["w1", "w2"], per_document=3)] == [0, 0]

"""Filters on the metadata of documents: in every kind of search, only matching documents are searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maxsieve as ms
from maxsieve.spec.where import matches
from maxsieve.text.collection.collection import Collection

from .support import WordEncoder, sentences

TEXTS = sentences(120)
METADATA: list[Any] = [None if i % 11 == 0 else {"year": 1990 + i % 30, "tags": [f"t{i % 3}"]} for i in range(120)]
LONG = "w1 " + " ".join(f"number {n} says what it has to say." for n in range(400))
WHERE = {"year": {"gte": 2005}, "tags": {"contains": "t1"}}
QUERY = " ".join(f"w{i}" for i in range(1, 200, 9))


@pytest.fixture(scope="module", params=[True, False], ids=["passages", "whole"])
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("where") / "c"
    with Collection.create(folder, WordEncoder(), dim=None, split=request.param) as made:
        made.add([QUERY], ["gone"], [{"year": 2010, "tags": ["t1"]}])
        made.add(TEXTS, [f"d{i}" for i in range(120)], METADATA)
        made.add([LONG, LONG], ["long", "old"], [{"year": 2020, "tags": ["t1"]}, {"year": 1066, "tags": ["t1"]}])
        made.delete("gone")
        yield made


def selected(collection: Collection, where: dict[str, Any] = WHERE) -> list[Any]:
    return [one for one in collection.ids if matches(where, collection.metadata(one))]


def same(found: Any, wanted: Any) -> None:
    assert (found.ids, found.scores.tolist(), found.n_documents) == (
        wanted.ids,
        wanted.scores.tolist(),
        wanted.n_documents,
    )
    assert found.report.guarantee == wanted.report.guarantee


def test_among_the_documents_that_match(collection: Collection) -> None:
    chosen = selected(collection)
    assert "long" in chosen
    assert "old" not in chosen
    found = collection.search(QUERY, k=8, where=WHERE)
    same(found, collection.search(QUERY, k=8, candidates=chosen))
    assert (found.scope, found.n_documents, found.where) == ("matching", len(chosen), WHERE)
    assert all(matches(WHERE, one) for one in found.metadata)
    everything = collection.search(QUERY, k=1000, where=WHERE)
    assert set(everything.ids) == set(chosen)
    assert collection.search(QUERY).where is None
    assert collection.search(QUERY, where={}).n_documents == len(collection)
    none = collection.search(QUERY, where={"year": 3000})
    assert (none.ids, none.n_documents, none.report.guarantee) == ([], 0, "exact")


def test_the_filter_is_about_what_was_added_not_about_the_record(collection: Collection) -> None:
    assert collection.search(QUERY, where={"text": {"exists": True}}).ids == []
    assert collection.search(QUERY, where={"metadata.year": {"exists": True}}).ids == []
    assert set(collection.search(QUERY, k=1000, where={"year": {"exists": False}}).ids) == {
        f"d{i}" for i in range(0, 120, 11)
    }


def test_with_candidates_and_exclude(collection: Collection) -> None:
    chosen = selected(collection)
    some, gone = [*chosen[::2], "d0", "old"], chosen[4:6]
    found = collection.search(QUERY, k=50, where=WHERE, candidates=some, exclude=gone)
    same(found, collection.search(QUERY, k=50, candidates=chosen[::2], exclude=gone))
    assert found.scope == "candidates"
    mask = [one in some for one in collection.ids]
    same(collection.search(QUERY, k=50, where=WHERE, candidates=mask, exclude=gone), found)
    excluded = collection.search(QUERY, k=50, where=WHERE, exclude=gone)
    same(excluded, collection.search(QUERY, k=50, candidates=chosen, exclude=gone))
    assert excluded.scope == "matching"


def test_many_queries(collection: Collection) -> None:
    other = {"not": WHERE}
    many = collection.search_many([QUERY, "w3 w4", QUERY], 5, where=[WHERE, None, other])
    for hits, query, where in zip(many, [QUERY, "w3 w4", QUERY], [WHERE, None, other], strict=True):
        alone = collection.search(query, 5, where=where)
        same(hits, alone)
        assert (hits.scope, hits.where) == (alone.scope, alone.where)
    with pytest.raises(ValueError, match=r"^where .*list"):
        collection.search(QUERY, where=[WHERE])
    with pytest.raises(ValueError, match=r"^where\.year\.gte\b.*\bNone\b"):
        collection.search(QUERY, where={"year": {"gte": None}})


def test_bm25_names_the_best_of_those_that_match(collection: Collection) -> None:
    pytest.importorskip("bm25s")
    chosen = selected(collection)
    for depth in (1, 3, 200):
        ranking = [one for one in collection.bm25(QUERY, 10**6) if one in chosen][:depth]
        found = collection.search(QUERY, k=8, where=WHERE, first_stage="bm25", depth=depth)
        same(found, collection.search(QUERY, k=8, candidates=ranking))
        assert (found.scope, found.n_documents, found.where) == ("candidates", len(ranking), WHERE)
    assert len(ranking) > 3


def test_a_function_is_asked_for_more_until_enough_match(collection: Collection) -> None:
    chosen, asked = selected(collection), []

    def stage(query: str, depth: int) -> list[Any]:
        asked.append(depth)
        return collection.ids[:depth]

    found = collection.search(QUERY, k=8, where=WHERE, first_stage=stage, depth=6)
    same(found, collection.search(QUERY, k=8, candidates=chosen[:6]))
    assert asked[:2] == [6, 24]
    asked.clear()
    found = collection.search(QUERY, k=8, where={"year": 1066}, first_stage=stage, depth=6)
    assert (found.ids, found.n_documents) == (["old"], 1)
    assert asked[-1] == len(collection)
    asked.clear()
    few = collection.search(QUERY, where=WHERE, first_stage=lambda query, depth: [*asked, asked.append(depth)][:0])
    assert (few.ids, asked) == ([], [100])
    with pytest.raises(KeyError, match="'frog'"):
        collection.search(QUERY, where=WHERE, first_stage=lambda query, depth: ["frog"])


@pytest.mark.parametrize("hybrid", [0.3, 0.8, "rrf"])
def test_hybrid_search_fuses_what_matches(collection: Collection, hybrid: Any) -> None:
    pytest.importorskip("bm25s")
    found = collection.search(QUERY, k=8, where=WHERE, hybrid=hybrid, depth=4)
    same(found, collection.search(QUERY, k=8, candidates=selected(collection), hybrid=hybrid, depth=4))
    assert found.scope == "matching"
    assert found.hybrid is not None
    assert found.report.guarantee == "exact"


def test_other_policies(collection: Collection) -> None:
    for policy in (ms.Exhaustive(), ms.Bandit(alpha=1.0, radius="serfling")):
        found = collection.search(QUERY, k=8, where=WHERE, policy=policy)
        assert set(found.ids) <= set(selected(collection))


def test_a_change_meanwhile_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    """The filter and late interaction read one version, whatever matches in the next."""
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as made:
        made.add(["a fox", "a fox and a crow"], ["one", "two"], [{"n": 1}, {"n": 2}])
        changes = iter([lambda: made.add(["a fox"], ["one"], [{"n": 2}], replace=True)])

        def stage(query: str, depth: int) -> list[Any]:
            found = made.ids
            next(changes, lambda: None)()
            return found

        hits = made.search("fox", where={"n": 2}, first_stage=stage)
        assert (hits.ids, hits.n_documents) == (["two"], 1)
        hits = made.search("fox", where={"n": 2}, first_stage=stage)
        assert (sorted(map(str, hits.ids)), hits.n_documents) == (["one", "two"], 2)

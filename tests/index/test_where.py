"""Searching among the documents that match a filter: the same as an index of only these."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.spec.where import matches
from maxsieve.storage import filter_masks as matching

from .support import POLICIES, answer, eighths, query_of, refused, small_codebooks

ROWS = eighths(21, 60, longest=5)
NAMES = [f"d{i}" for i in range(60)]
RECORDS: list[Any] = [
    None if i % 7 == 0 else {"year": 2000 + i % 30, "lang": ("en", "de")[i % 2], "author": {"name": f"a{i % 4}"}}
    for i in range(60)
]
QUERY = query_of(5, tokens=6)
FILTERS: list[dict[str, Any]] = [
    {"year": {"gte": 2010}, "lang": "en"},
    {"$or": [{"author.name": "a1"}, {"year": {"$lt": 2003}}]},
    {"lang": {"ne": "en"}},
    {"year": {"exists": False}},
    {"year": 1990},
    {},
]


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> ms.Index:
    """An index of several segments, with deleted documents, some of which were replaced."""
    path = tmp_path / "index" if request.param == "disk" else None
    index = ms.Index.build(ROWS[:30], NAMES[:30], metadata=[{"year": 2029}] * 30, path=path)
    index.add(eighths(22, 3), [*"xyz"], metadata=[{"year": 2020, "lang": "en"}] * 3)
    index.delete([*NAMES[:30]])
    index.add(ROWS[:40], NAMES[:40], metadata=RECORDS[:40])
    index.add(ROWS[40:], NAMES[40:], metadata=RECORDS[40:])
    index.delete([*"xyz"])
    assert index.ids == NAMES
    return index


def only(where: dict[str, Any], *without: str) -> ms.Index:
    """An index of only the matching documents, in insertion order."""
    kept = [i for i, record in enumerate(RECORDS) if matches(where, record) and NAMES[i] not in without]
    index = ms.Index.create(5)
    index.add([ROWS[i] for i in kept], [NAMES[i] for i in kept])
    return index


@pytest.mark.parametrize("where", FILTERS)
def test_a_filter_makes_an_index_of_its_own(index: ms.Index, where: dict[str, Any]) -> None:
    for policy in POLICIES:
        for k in (1, 3, 100):
            hits = index.search(QUERY, k, policy=policy, where=where)
            assert answer(hits) == answer(only(where).search(QUERY, k, policy=policy))


def test_with_candidates_and_exclude(index: ms.Index) -> None:
    where, chosen, gone = FILTERS[0], NAMES[5:50], NAMES[10:20]
    others = [one for one in NAMES if one not in chosen]
    want = answer(only(where, *others, *gone).search(QUERY, 4))
    assert answer(index.search(QUERY, 4, candidates=chosen, exclude=gone, where=where)) == want
    mask = np.array([one in chosen for one in NAMES])
    assert answer(index.search(QUERY, 4, candidates=mask, exclude=gone, where=where)) == want


def test_many_queries_with_one_filter_or_one_each(index: ms.Index) -> None:
    queries = [query_of(seed, 4) for seed in range(4)]
    one = FILTERS[0]
    for given, each in ((one, [one] * 4), ([one, None, FILTERS[1], one], [one, None, FILTERS[1], one])):
        many = index.search_many(queries, 5, where=given)
        assert [answer(hits)[0] for hits in many] == [
            answer(index.search(query, 5, where=where))[0] for query, where in zip(queries, each, strict=True)
        ]
    with refused(index, ValueError, "where has 2 entries for 4 queries"):
        index.search_many(queries, where=[one, one])
    with refused(index, ValueError, "where[1].year.gt must be a number or a string"):
        index.search_many(queries, where=[None, {"year": {"gt": None}}, None, None])


def test_an_index_without_metadata() -> None:
    index = ms.Index.build(ROWS, NAMES)
    assert index.search(QUERY, where={"year": 1}).ids == []
    assert index.search(QUERY, where={"year": 1}).report.guarantee == "exact"
    assert answer(index.search(QUERY, where={"year": {"ne": 1}})) == answer(index.search(QUERY))
    assert ms.Index.create(5).search(QUERY, where={"year": {"ne": 1}}).ids == []


def test_records_that_are_no_objects() -> None:
    index = ms.Index.build([[[1.0]]] * 5, metadata=["year", 3, ["year"], True, {"year": 3}])
    assert index.search([[1.0]], where={"year": 3}).ids == [4]
    assert sorted(index.search([[1.0]], where={"year": {"nin": [3]}}).ids) == [0, 1, 2, 3]


def test_a_filter_sees_one_state(index: ms.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are added, replaced and deleted while SQLite is asked: the answer is that of the state before."""
    where = FILTERS[0]
    want, honest, changes = answer(index.search(QUERY, 5)), matching.find_matches, []

    def meddle(*arguments: Any) -> Any:
        if not changes:
            changes.append(threading.Thread(target=change))
            changes[0].start()
            changes[0].join()
        return honest(*arguments)

    def change() -> None:
        index.delete(NAMES[:20])
        index.add(ROWS[20:30], NAMES[20:30], metadata=[None] * 10, replace=True)
        index.compact()

    monkeypatch.setattr(matching, "find_matches", meddle)
    monkeypatch.setattr("maxsieve.storage.metadata.find_matches", meddle)
    found = index.search(QUERY, 5, where=where)
    assert changes
    assert answer(found) == answer(only(where).search(QUERY, 5))
    assert answer(index.search(QUERY, 5)) != want


def test_another_state_asks_only_about_new_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [np.ones((1, 5), np.float32)] * 40_000  # enough that it is not merged into the next segment
    index = ms.Index.build(rows, metadata=[{"n": i} for i in range(40_000)], path=tmp_path / "index")
    asked: list[int] = []
    honest = matching.find_matches

    def count(where: Any, documents: int, *rest: Any) -> Any:
        asked.append(documents)
        return honest(where, documents, *rest)

    monkeypatch.setattr("maxsieve.storage.metadata.find_matches", count)
    for _ in range(2):
        assert index.search(np.ones((1, 5)), where={"n": 7}).ids == [7]
    index.add(rows[:1], [-1], metadata=[{"n": 7}])
    assert index.search(np.ones((1, 5)), where={"n": 7}).ids == [7, -1]
    index.delete([7])
    assert index.search(np.ones((1, 5)), where={"n": 7}).ids == [-1]
    other = ms.Index.open(tmp_path / "index")
    assert other.search(np.ones((1, 5)), where={"n": 7}).ids == [-1]
    assert asked == [40_000, 1, 40_000, 1]


def test_a_filter_that_was_not_calibrated_is_answered_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    small_codebooks(monkeypatch)
    rng = np.random.default_rng(0)
    index = ms.Index.build(
        rng.standard_normal((2000, 8)), lengths=[4] * 500, metadata=[{"half": i % 2} for i in range(500)]
    )
    index.calibrate(rng.standard_normal((20, 3, 8)), k=10)
    query, policy = rng.standard_normal((3, 8)), ms.Calibrated(overlap=0.9)
    assert index.search(query, 5, policy=policy).report.guarantee == "calibrated"
    filtered = index.search(query, 5, policy=policy, where={"half": 1})
    assert filtered.report.guarantee == "exact"
    assert list(filtered) == list(index.search(query, 5, where={"half": 1}))
    assert index.search(query, 5, policy=policy, where={}).report.guarantee == "exact"
    few = index.search(query, 5, policy=policy, where={"half": {"gt": 1}})
    assert (few.ids, few.report.guarantee) == ([], "exact")


def test_groups_are_those_of_what_matches() -> None:
    index = ms.Index.build(
        [[[3.0]], [[2.0]], [[1.0]]],
        ["a1", "a2", "b1"],
        metadata=[{"n": 1}, {"n": 2}, {"n": 2}],
        group_by=lambda one: str(one)[0],
    )
    assert index.search([[1.0]], where={"n": 2}).ids == ["a2", "b1"]


def test_a_mistake_changes_nothing(index: ms.Index) -> None:
    with refused(index, ValueError, "where.year.above is not an operator"):
        index.search(QUERY, where={"year": {"above": 3}})
    with refused(index, ValueError, "where must be one filter, not a list"):
        index.search(QUERY, where=[{"year": 3}])

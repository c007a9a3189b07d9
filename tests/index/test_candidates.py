"""Searching among candidates: the same as an index of only these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms

from .support import POLICIES, Rows, answer, bits, eighths, expected, query_of

DOCUMENTS = dict(zip((f"d{i}" for i in range(30)), eighths(11, 30, longest=5), strict=True))
NAMES = list(DOCUMENTS)
QUERY = query_of(3, tokens=6)
CHOSEN = ["d7", "d3", "d21", "d4", "d11", "d0", "d28"]
MASK = np.array([one in CHOSEN for one in NAMES])


@pytest.fixture(scope="module")
def index() -> ms.Index:
    index = ms.Index.build(eighths(12, 4) + list(DOCUMENTS.values()), [*"wxyz", *DOCUMENTS])
    index.delete([*"wxyz"])
    assert index.ids == NAMES
    return index


def only(*ids: str) -> ms.Index:
    """An index of only these, in insertion order."""
    kept = [one for one in NAMES if one in ids]
    index = ms.Index.create(5)
    index.add([DOCUMENTS[one] for one in kept], kept)
    return index


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize(
    "form",
    [
        "list",
        "tuple",
        "set",
        "reversed",
        "repeated",
        "generator",
        "dict keys",
        "array",
        "array of objects",
        "mask",
        "list mask",
        "tuple mask",
        "mask of NumPy booleans",
        "strided mask",
    ],
)
def test_candidates_are_an_index_of_their_own(form: str, k: int, policy: Any, index: ms.Index) -> None:
    forms: dict[str, Any] = {
        "list": CHOSEN,
        "tuple": tuple(CHOSEN),
        "set": set(CHOSEN),
        "reversed": CHOSEN[::-1],
        "repeated": CHOSEN * 3,
        "generator": (one for one in CHOSEN),
        "dict keys": dict.fromkeys(CHOSEN).keys(),
        "array": np.array(CHOSEN),
        "array of objects": np.array(CHOSEN, object),
        "mask": MASK,
        "list mask": MASK.tolist(),
        "tuple mask": tuple(MASK.tolist()),
        "mask of NumPy booleans": list(MASK),
        "strided mask": np.repeat(MASK, 2)[::2],
    }
    hits = index.search(QUERY, k, policy=policy, candidates=forms[form])
    assert answer(hits) == answer(only(*CHOSEN).search(QUERY, k, policy=policy))
    if not isinstance(policy, ms.Bandit):
        assert bits(hits) == expected(QUERY, {one: DOCUMENTS[one] for one in NAMES if one in CHOSEN}, k)


@pytest.mark.full
def test_torch_candidates() -> None:
    import torch

    index = ms.Index.build(list(DOCUMENTS.values()))
    want = index.search(QUERY, 4, candidates=[2, 3, 5, 7, 11])
    chosen = torch.tensor([11, 7, 5, 5, 3, 2])
    mask = torch.zeros(30, dtype=torch.bool)
    mask[chosen] = True
    for form in (chosen, mask):
        assert answer(index.search(QUERY, 4, candidates=form)) == answer(want)
        assert [answer(hits) for hits in index.search_many([QUERY, QUERY], 4, candidates=form)] == [answer(want)] * 2
        assert [answer(hits) for hits in index.search_many([QUERY], 4, candidates=[form])] == [answer(want)]
    assert index.search(QUERY, 30, exclude=chosen).ids == index.search(QUERY, 30, exclude=[2, 3, 5, 7, 11]).ids


@pytest.mark.parametrize("policy", POLICIES)
def test_exclude(policy: Any, index: ms.Index) -> None:
    rest = [one for one in NAMES if one not in CHOSEN]
    for form in (CHOSEN, CHOSEN * 2, set(CHOSEN), np.array(CHOSEN), iter(CHOSEN)):
        assert answer(index.search(QUERY, 6, policy=policy, exclude=form)) == answer(
            only(*rest).search(QUERY, 6, policy=policy)
        )
    assert answer(index.search(QUERY, 6, policy=policy, exclude=[])) == answer(index.search(QUERY, 6, policy=policy))
    assert index.search(QUERY, 6, policy=policy, exclude=NAMES).ids == []


@pytest.mark.parametrize("policy", POLICIES)
def test_both(policy: Any, index: ms.Index) -> None:
    unwanted = ["d7", "d28", "d1", "d2"]
    kept = [one for one in CHOSEN if one not in unwanted]
    want = only(*kept).search(QUERY, 3, policy=policy)
    assert answer(index.search(QUERY, 3, policy=policy, candidates=CHOSEN, exclude=unwanted)) == answer(want)
    assert answer(index.search(QUERY, 3, policy=policy, candidates=MASK, exclude=unwanted)) == answer(want)
    assert index.search(QUERY, 3, policy=policy, candidates=CHOSEN, exclude=CHOSEN).ids == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("none", [[], (), set(), iter([]), np.array([]), np.zeros(30, np.bool_), [False] * 30, {}])
def test_no_candidates_no_hits(none: Any, policy: Any, index: ms.Index) -> None:
    hits = index.search(QUERY, 3, policy=policy, candidates=none)
    assert (hits.ids, len(hits.scores), hits.report.rescored) == ([], 0, 0)
    assert hits.report.guarantee == "exact"
    assert 0 <= hits.report.coverage <= 1
    many = index.search_many([QUERY, QUERY], 3, policy=policy, candidates=none)
    assert [one.ids for one in many] == [[], []]


def test_reports_count_candidates_only(index: ms.Index) -> None:
    solid = [one for one in CHOSEN if len(DOCUMENTS[one])]
    assert len(solid) < len(CHOSEN), "an empty document is among the candidates"
    for policy in POLICIES:
        report = index.search(QUERY, 2, policy=policy, candidates=CHOSEN).report
        assert all(one.active <= len(solid) for one in report.rounds)
        assert report.rescored <= len(solid)
    certified = index.search(QUERY, 2, candidates=CHOSEN).report
    assert certified.rounds[0].active == len(solid)
    assert certified.coverage == 1.0
    assert index.search(QUERY, 2, policy=ms.Exhaustive(), candidates=CHOSEN).report.rescored == len(solid)
    whole = ms.Bandit(alpha=1.0, margin=0, block=3)
    report = index.search(QUERY, 2, policy=whole, candidates=CHOSEN).report
    assert report.rounds[0].active == len(solid)
    revealed = sum(one.active * 3 for one in report.rounds)
    assert report.coverage == revealed / (len(solid) * len(QUERY))


def test_ties_go_by_insertion_order_whatever_the_order_given() -> None:
    same = np.ones((1, 5), np.float32)
    index = ms.Index.build([same] * 9, list("ihgfedcba"))
    for policy in POLICIES:
        for candidates in (list("abc"), list("cab"), set("bca"), np.array(list("bac"))):
            assert index.search(same, 2, policy=policy, candidates=candidates).ids == ["c", "b"]
        assert index.search(same, 3, policy=policy, exclude=["i", "g"]).ids == ["h", "f", "e"]


# Many queries

QUERIES = [query_of(seed, tokens) for seed, tokens in ((0, 1), (1, 4), (2, 6))]


def check_many(index: ms.Index, sets: list[Any], unwanted: list[Any], **how: Any) -> None:
    for threads in (1, 3):
        for policy in POLICIES:
            many = index.search_many(QUERIES, 4, policy=policy, threads=threads, **how)
            each = [
                index.search(query, 4, policy=policy, candidates=wanted, exclude=out)
                for query, wanted, out in zip(QUERIES, sets, unwanted, strict=True)
            ]
            assert [answer(hits) for hits in many] == [answer(hits) for hits in each]


@pytest.mark.parametrize("form", [CHOSEN, tuple(CHOSEN), set(CHOSEN), np.array(CHOSEN), MASK, MASK.tolist(), [], None])
def test_one_set_for_all_queries(form: Any, index: ms.Index) -> None:
    check_many(index, [form] * 3, [None] * 3, candidates=form)


@pytest.mark.parametrize("form", [CHOSEN, tuple(CHOSEN), set(CHOSEN), np.array(CHOSEN), [], None])
def test_one_exclusion_for_all_queries(form: Any, index: ms.Index) -> None:
    check_many(index, [None] * 3, [form] * 3, exclude=form)
    check_many(index, [CHOSEN] * 3, [form] * 3, candidates=CHOSEN, exclude=form)


@pytest.mark.parametrize(
    "entries",
    [
        [["d1", "d5"], ["d2"], []],
        [None, None, None],
        [None, ["d1"], None],
        (["d1"], {"d2"}, ("d3", "d4")),
        [np.array(["d1", "d2"]), None, ["d1"]],
        [[], [], []],
        [["d1"] * 4, ["d2"], CHOSEN],
    ],
)
def test_an_entry_for_each_query(entries: Any, index: ms.Index) -> None:
    check_many(index, list(entries), [None] * 3, candidates=entries)
    check_many(index, [None] * 3, list(entries), exclude=entries)
    check_many(index, [CHOSEN] * 3, list(entries), candidates=CHOSEN, exclude=entries)
    check_many(index, [CHOSEN] * 3, list(entries), candidates=[CHOSEN] * 3, exclude=list(entries))


def test_masks_for_each_query(index: ms.Index) -> None:
    masks = [MASK, ~MASK, None]
    check_many(index, masks, [None] * 3, candidates=masks)
    square = np.stack([MASK, ~MASK, MASK])
    check_many(index, list(square), [None] * 3, candidates=square)
    table = np.array([["d1", "d2"], ["d3", "d3"], ["d1", "d9"]])
    check_many(index, list(table), [None] * 3, candidates=table)


def test_generators_for_many_queries(index: ms.Index) -> None:
    want = [answer(index.search(query, 4, candidates=CHOSEN)) for query in QUERIES]
    for form in (iter(CHOSEN), (iter(CHOSEN) for _ in QUERIES), [iter(CHOSEN), CHOSEN, tuple(CHOSEN)]):
        found = index.search_many(iter(QUERIES), 4, candidates=form)
        assert [answer(hits) for hits in found] == want
    again = iter(CHOSEN)
    found = index.search_many(QUERIES, 4, candidates=[again, again, again], exclude=[None, [], ()])
    assert [answer(hits) for hits in found] == want


def test_one_query_and_what_could_mean_two_things(index: ms.Index) -> None:
    def ids(candidates: Any) -> list[Any]:
        return index.search_many([QUERY], 30, candidates=candidates)[0].ids

    want = index.search(QUERY, 30, candidates=["d1", "d4"]).ids
    assert ids(["d1", "d4"]) == ids([["d1", "d4"]]) == ids((("d1", "d4"),)) == ids([{"d1", "d4"}]) == want
    assert ids([None]) == ids(None) == index.search(QUERY, 30).ids
    assert ids([]) == ids([[]]) == ids(()) == []
    assert ids(["d4"]) == ids(("d4",)) == ["d4"]
    assert ids(np.array([["d1", "d4"]])) == want


def test_no_queries(index: ms.Index) -> None:
    assert index.search_many([]) == []
    assert index.search_many(np.zeros((0, 3, 5)), candidates=CHOSEN, exclude=[]) == []
    assert index.search_many([], candidates=[]) == []


def test_a_candidate_generator_may_use_the_index(index: ms.Index) -> None:
    long = [one for one, rows in DOCUMENTS.items() if len(rows) > 3]
    want = answer(index.search(QUERY, 3, candidates=long))
    assert answer(index.search(QUERY, 3, candidates=(x for x in NAMES if len(index.vectors(x)) > 3))) == want
    found = index.search_many([QUERY], 3, candidates=[(x for x in NAMES if len(index.vectors(x)) > 3)])
    assert answer(found[0]) == want
    found = index.search_many([QUERY], 3, exclude=(x for x in NAMES if len(index.vectors(x)) <= 3))
    assert bits(found[0]) == want[0]


def test_a_large_set_for_many_queries_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    index = ms.Index.build(np.ones((5000, 1, 1)))
    reads = []
    read = ms.options.to_ids
    monkeypatch.setattr(ms.options, "to_ids", lambda ids, what: reads.append(what) or read(ids, what))
    index.search_many([[[1.0]]] * 50, candidates=range(5000), exclude=[1, 2])
    assert reads == ["candidates", "exclude"]


@given(
    chosen=st.lists(st.integers(0, 19)),
    unwanted=st.none() | st.lists(st.integers(0, 19), max_size=5),
    k=st.integers(1, 8),
    seed=st.integers(0, 5),
)
def test_any_candidates(chosen: list[int], unwanted: list[int] | None, k: int, seed: int) -> None:
    documents: list[Rows] = eighths(seed, 20, longest=3)
    index = ms.Index.build(documents)
    kept = {i: documents[i] for i in sorted(set(chosen) - set(unwanted or []))}
    query = query_of(seed, 2)
    for policy in POLICIES[:2]:
        hits = index.search(query, k, policy=policy, candidates=chosen, exclude=unwanted)
        assert bits(hits) == expected(query, kept, k)

"""What a traced search records: the same as the specification, for all documents or a bounded number of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import maxsieve as ms
from cases import Case, check_rescoring, make_case
from long_form import scaled
from maxsieve import _core, spec
from maxsieve.policies import to_native

SHOWN = 5000
POLICIES = (ms.Certified(), ms.Exhaustive(), ms.Bandit(), ms.Bandit(block=1, margin=0, radius="serfling"))


def traced(index: ms.Index, query: np.ndarray, k: int, policy: object, threads: int = 1) -> _core.Answer:
    state = index.storage.snapshot
    (answer,) = _core.search(state.corpus, [query], [state.searchable], k, to_native(policy), threads, True)
    return answer


def check_certified(case: Case, threads: int) -> None:
    expected = spec.certified(case.query, case.documents, case.k)
    index = ms.Index.build(case.documents)
    answer, candidates = traced(index, case.query, case.k, ms.Certified(), threads), index.storage.snapshot.searchable
    trace = answer.trace
    assert trace.shown.tolist() == candidates.tolist()
    assert trace.tokens.tolist() == list(range(len(case.query)))
    if len(candidates) <= case.k:  # nothing to sieve, so the order is that of positions
        assert trace.rounds == []
        assert trace.rescored.tolist() == list(range(len(candidates)))
        return
    ((active, dropped, revealed, threshold, lower, upper),) = trace.rounds
    wanted = expected.lower[candidates], expected.upper[candidates]
    assert (lower.tobytes(), upper.tobytes()) == (wanted[0].tobytes(), wanted[1].tobytes())
    assert (active, revealed) == (len(candidates), len(case.query))
    assert threshold == np.sort(lower)[-case.k]
    assert trace.dropped.tolist() == (upper < threshold).astype(int).tolist()
    assert dropped == trace.dropped.sum()
    check_rescoring(trace, expected.rescoring, np.arange(len(case.documents)))
    if trace.unseen is not None:
        assert trace.unseen[1] == expected.upper[trace.unseen[0]] < trace.thresholds[-1]


@pytest.mark.parametrize("threads", [1, 3])
def test_certified_is_that_of_the_specification(threads: int, isa: str) -> None:
    for seed in range(scaled(60)):
        case = make_case(seed)
        if any(map(len, case.documents)):
            check_certified(case, threads)


def unit(rng: np.random.Generator, count: int, d: int = 8, length: int = 2) -> np.ndarray:
    x = rng.standard_normal((count, length, d))
    return (x / np.linalg.norm(x, axis=2, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_trace_changes_nothing_and_is_off_by_default(policy: ms.Bandit) -> None:
    rng = np.random.default_rng(0)
    index, query = ms.Index.build(unit(rng, 300)), unit(rng, 1, length=9)[0]
    plain, seen = index.search(query, 5, policy=policy), index.search(query, 5, policy=policy, trace=True)
    assert plain.trace is None
    assert plain.ids == seen.ids
    assert plain.scores.tobytes() == seen.scores.tobytes()
    for name in ("guarantee", "coverage", "survivors", "rescored", "rounds"):
        assert getattr(plain.report, name) == getattr(seen.report, name)
    trace = seen.trace
    assert trace.policy == type(policy).__name__
    assert [trace.ids[place] for place in trace.hits] == seen.ids
    assert len(trace.rescored) == seen.report.rescored
    assert seen.scores.tolist() == sorted(trace.scores.tolist(), reverse=True)[:5]
    assert trace.thresholds[-1] == seen.scores[-1]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_cells_are_those_of_the_coverage(policy: ms.Bandit) -> None:
    rng = np.random.default_rng(1)
    index, query = ms.Index.build(unit(rng, 500)), unit(rng, 1, length=16)[0]
    hits = index.search(query, 3, policy=policy, trace=True)
    cells = 0 if isinstance(policy, ms.Exhaustive) else hits.report.coverage * 500 * 16
    assert hits.trace.revealed.sum() == round(cells)


@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_bytes_are_what_each_stage_reads(store: str) -> None:
    rng = np.random.default_rng(2)
    documents = [rng.standard_normal((int(rng.integers(1, 6)), 40)).astype(np.float32) for _ in range(200)]
    index, query = ms.Index.build(documents, store=store), rng.standard_normal((12, 40)).astype(np.float32)
    lengths = np.array([len(one) for one in documents])
    row, code = {"float32": 160, "float16": 80, "int8": 64}[store], 64
    everything = index.search(query, 4, policy=ms.Exhaustive(), trace=True).trace
    assert everything.bytes_read == {"rescore": row * lengths.sum()}
    assert everything.bytes_of_all == row * lengths.sum()
    certified = index.search(query, 4, trace=True).trace
    assert certified.bytes_read == {"scan": code * lengths.sum(), "rescore": row * lengths[certified.rescored].sum()}
    bandit = index.search(query, 4, policy=ms.Bandit(block=3), trace=True).trace
    scanned = sum(code * lengths[~np.isnan(one.lower)].sum() for one in bandit.rounds)
    assert bandit.bytes_read == {"scan": scanned, "rescore": row * lengths[bandit.rescored].sum()}


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_of_very_many_the_hits_and_a_sample_are_shown(policy: ms.Bandit) -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng, SHOWN + 1500)
    index, query = ms.Index.build(vectors), unit(rng, 1, length=6)[0]
    hits = index.search(query, 7, policy=policy, trace=True)
    trace = hits.trace
    assert (trace.documents, trace.shown, trace.sampled) == (SHOWN + 1500, SHOWN, True)
    assert trace.ids == sorted(set(trace.ids))
    assert [trace.ids[place] for place in trace.hits] == hits.ids
    assert hits.ids == index.search(query, 7, policy=policy).ids
    again = index.search(query, 7, policy=policy, trace=True).trace
    assert again.ids == trace.ids
    known = dict(zip(trace.ids, trace.dropped.tolist(), strict=True))
    assert all(known[one] == 0 for one in hits.ids)
    if not isinstance(policy, ms.Exhaustive):
        assert len(trace.rescored) == hits.report.rescored
    for one in trace.rounds:
        assert len(one.lower) == SHOWN
        assert np.isfinite(one.lower).sum() <= one.active
    after = [one.active - one.dropped for one in trace.rounds]
    assert [one.active for one in trace.rounds] == [SHOWN + 1500, *after][: len(after)]


def test_a_sample_is_that_of_the_specification_and_spread_evenly() -> None:
    rng = np.random.default_rng(4)
    index, query = ms.Index.build(unit(rng, 3 * SHOWN)), unit(rng, 1, length=6)[0]
    hits = index.search(query, 5, policy=ms.Exhaustive(), trace=True)
    others = np.setdiff1d(np.arange(3 * SHOWN), hits.ids)
    drawn = others[spec.sample(len(others), SHOWN - 5, 0)].tolist()
    assert hits.trace.ids == sorted([*hits.ids, *drawn])
    thirds = np.histogram(hits.trace.ids, bins=[0, SHOWN, 2 * SHOWN, 3 * SHOWN])[0]
    assert (abs(thirds - SHOWN / 3) < 200).all()


def test_long_queries_show_fewer_so_that_intervals_stay_few() -> None:
    rng = np.random.default_rng(5)
    index, query = ms.Index.build(unit(rng, 1500, d=2, length=1)), unit(rng, 1, d=2, length=4096)[0]
    trace = index.search(query, 2, policy=ms.Bandit(block=512), trace=True).trace
    assert trace.shown == 2**22 // 4096


def test_only_one_query_at_a_time_is_traced() -> None:
    index = ms.Index.build([np.eye(2)])
    state, query = index.storage.snapshot, np.eye(2, dtype=np.float32)
    with pytest.raises(ValueError, match="query"):
        _core.search(state.corpus, [query] * 2, [state.searchable] * 2, 1, _core.Certified(), 1, True)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_nothing_to_search(policy: ms.Bandit) -> None:
    trace = ms.Index.create(2).search(np.eye(2), policy=policy, trace=True).trace
    assert (trace.documents, trace.shown, trace.rounds, len(trace.rescored)) == (0, 0, [], 0)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_json_holds_all_of_it(policy: ms.Bandit) -> None:
    rng = np.random.default_rng(6)
    index, query = ms.Index.build(unit(rng, 60), [f"d{i}" for i in range(60)]), unit(rng, 1, length=9)[0]
    trace = index.search(query, 5, policy=policy, trace=True).trace
    read = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    assert read["ids"] == trace.ids
    assert np.array(read["scores"], np.float32).tobytes() == trace.scores.tobytes()
    assert len(read["rounds"]) == len(trace.rounds)
    for plain, one in zip(read["rounds"], trace.rounds, strict=True):
        assert [np.nan if x is None else x for x in plain["lower"]] == pytest.approx(one.lower, abs=0, nan_ok=True)


def test_groups_are_traced_as_the_documents_that_were_searched_for() -> None:
    rng = np.random.default_rng(7)
    ids = [f"{i // 3}-{i % 3}" for i in range(90)]
    index = ms.Index.build(unit(rng, 90), ids, group_by=lambda one: one.split("-")[0])
    hits = index.search(unit(rng, 1, length=5)[0], 4, trace=True)
    assert hits.trace.k >= 8
    assert hits.trace.documents == 90
    assert [hits.trace.ids[place] for place in hits.trace.hits] == hits.ids


def test_candidates_are_what_is_traced() -> None:
    rng = np.random.default_rng(8)
    index, query = ms.Index.build(unit(rng, 90)), unit(rng, 1, length=5)[0]
    trace = index.search(query, 4, candidates=[3, 1, 50, 60, 61, 62], exclude=[1], trace=True).trace
    assert trace.ids == [3, 50, 60, 61, 62]

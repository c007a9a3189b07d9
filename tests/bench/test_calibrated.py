"""Calibrated methods: calibrated on queries that are not timed, and judged by their time and by what they find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def tiny() -> Any:
    from benchmarks.vectors import shapes

    return shapes.load("tiny", 4, lambda documents, count: documents)


def test_the_queries_to_calibrate_on_are_others_than_the_timed_ones(tiny: Any) -> None:
    from benchmarks.vectors import shapes

    assert len(tiny.queries) == 4
    assert len(tiny.practice) == shapes.PRACTICE
    timed = {query.tobytes() for query in tiny.queries}
    assert timed.isdisjoint(query.tobytes() for query in tiny.practice)


def test_a_target_tells_how_many_queries_it_needs() -> None:
    from benchmarks.runs.comparison import ours

    wanted = {"calibrated-0.99": 99, "calibrated-0.95": 19, "certified": 0, "colbandit-0.2": 0}
    assert {method: ours.needs(method) for method in wanted} == wanted


def _run(loaded: Any, methods: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path, **options: Any) -> Any:
    from benchmarks.runs.comparison import run
    from benchmarks.runs.comparison.plan import Plan
    from benchmarks.runs.comparison.results import Results
    from benchmarks.vectors import shapes

    monkeypatch.setenv("MAXSIEVE_CACHE", str(folder))
    monkeypatch.setattr(run, "_calls", lambda *_: None)
    if loaded is not None:
        monkeypatch.setattr(shapes, "load", lambda *_: loaded)
    given: dict[str, Any] = {
        "shape": ["tiny"],
        "method": methods,
        "entries": [],
        "k": [5, 10],
        "isa": ["scalar"],
        "threads": [1],
        "batch": [1],
        "queries": 4,
        "repeat": 1,
        "seconds": 100,
        "clock": "wall",
        "memory": 1,
        "quick": True,
        "out": folder,
    }
    results = Results({"kernels": "scalar", "CPU": "it"}, {"clock": "wall"})
    list(run.run(Plan(**given | options), results))
    return results


def test_calibrated_methods_have_rows_and_a_holding(tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks.vectors import shapes

    results = _run(tiny, ["certified", "calibrated-0.99", "calibrated-0.95"], monkeypatch, tmp_path)
    for method in ("calibrated-0.99", "calibrated-0.95"):
        assert [row.k for row in results.find(method=method)] == [5, 10]
        assert all(row.overlap > 0.5 and row.ours for row in results.find(method=method))
    (held,) = [holding for holding in results.holdings if holding.holder == "maxsieve, lists"]
    assert 2 < held.bytes_per_token < 40  # most of it centroids: the corpus is tiny
    assert f"calibrated on {shapes.PRACTICE} queries" in held.note
    assert results.absent == []


@pytest.mark.full
def test_without_queries_enough_a_method_is_left_out(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = replace(tiny, practice=tiny.practice[:98])
    results = _run(few, ["calibrated-0.99", "calibrated-0.95"], monkeypatch, tmp_path)
    assert {row.method for row in results.rows} == {"calibrated-0.95"}
    assert results.absent == [
        "calibrated-0.99 on tiny: needs 99 queries to calibrate on beside the timed ones, and there are 98"
    ]


def _row(**given: Any) -> Any:
    from benchmarks.runs.comparison.results import Row

    usual: dict[str, Any] = dict.fromkeys(Row.__dataclass_fields__)
    usual |= {"k": 10, "isa": "avx2", "threads": 1, "batch": 1, "speedups": {}, "overlap": 1.0, "milliseconds": 1.0}
    return Row(**usual | given)


def _verdicts(*rows: Any, **fields: Any) -> dict[str, str]:
    from benchmarks.figures.targets import Judge
    from benchmarks.runs.comparison.results import Results

    shapes = {row.shape: "" for row in rows}
    results = Results({"kernels": "avx2, scalar"}, {}, shapes, list(rows), **fields)
    return {target.figure: target.verdict for target in Judge(results).targets()}


@pytest.mark.parametrize(
    ("overlap", "times", "verdict"), [(0.985, 20, "reached"), (0.98, 30, "missed"), (1, 19, "missed")]
)
def test_against_colbandit_time_and_overlap_count(overlap: float, times: float, verdict: str) -> None:
    row = _row(shape="scifact", method="calibrated-0.99", overlap=overlap, speedups={"colbandit-0.2": times})
    assert _verdicts(row)["avx2, scifact: calibrated-0.99 against colbandit-0.2"] == verdict


def test_against_certified_and_fast_plaid() -> None:
    mine = {"shape": "hotpotqa", "speedups": {"fast-plaid": 30}}
    rows = [
        _row(method="certified", milliseconds=20.0, **mine),
        _row(method="calibrated-0.99", milliseconds=2.0, **mine),
        _row(shape="hotpotqa", method="fast-plaid", isa="", overlap=0.9),
    ]
    verdicts = _verdicts(*rows)
    assert verdicts["avx2, hotpotqa: calibrated-0.99 against certified"] == "reached"
    assert verdicts["hotpotqa: certified against fast-plaid"] == "reached"
    assert verdicts["hotpotqa: calibrated-0.99 against fast-plaid"] == "missed"  # it should have been 50


def test_the_million_and_the_parts_of_tier_0() -> None:
    from benchmarks.runs import tier0
    from benchmarks.runs.comparison.results import Holding

    row = _row(shape="million", method="calibrated-0.99", milliseconds=5.9)
    resident = Holding("million", "maxsieve, resident, calibrated-0.99", 8.5, None)
    figures = {tier0.SCAN_IN_CACHE: 1.0, tier0.SCAN_FROM_MEMORY: 1.6, tier0.ASSIGN: 149_000.0}
    verdicts = _verdicts(row, holdings=[resident], figures=figures)
    assert verdicts["million: calibrated-0.99, ms"] == "reached"
    assert verdicts["million: resident bytes a token"] == "missed"
    assert verdicts[f"{tier0.SCAN_IN_CACHE} (T = 32, C = 16,384)"] == "reached"
    assert verdicts[f"{tier0.SCAN_FROM_MEMORY} (T = 32, C = 16,384)"] == "missed"
    assert verdicts[f"{tier0.ASSIGN} (C = 16,384)"] == "missed"


@pytest.mark.full
def test_tier_0_is_measured_by_its_stages() -> None:
    from benchmarks.runs import tier0

    figures = tier0.measure(1, learnt=1 << 14, in_cache=1 << 15, from_memory=1 << 16)
    assert set(figures) == {tier0.SCAN_IN_CACHE, tier0.SCAN_FROM_MEMORY, tier0.TABLE, tier0.ASSIGN}
    assert all(value > 0 for value in figures.values())


@pytest.fixture
def passages() -> Any:
    from benchmarks.runs.comparison import million

    rng = np.random.default_rng(3)
    lengths = rng.integers(10, 60, 40)
    rows = rng.standard_normal((lengths.sum(), million.DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    queries = [rows[start : start + 5] for start in range(0, 200)]
    return million.Passages(rows, lengths, queries)


def test_a_document_of_the_million_is_runs_of_real_passages(passages: Any) -> None:
    from benchmarks.runs.comparison import million

    of_passage = np.repeat(np.arange(len(passages.lengths)), passages.lengths)
    documents = list(million.mixtures(passages, 30))
    again = list(million.mixtures(passages, 20))
    assert all((one == other).all() for one, other in zip(again, documents, strict=False))
    numbers = set()
    for document in documents:
        assert document.shape == (million.LENGTH, million.DIM)
        assert np.allclose(np.linalg.norm(document, axis=1), 1, atol=1e-5)
        similarity = document @ passages.rows.T
        nearest = similarity.argmax(axis=1)
        assert 0.8 < similarity.max(axis=1).min() < 0.999  # noise, but little
        breaks = np.flatnonzero(np.diff(nearest) != 1) + 1
        runs = np.split(nearest, breaks)
        assert {len(run) for run in runs} in ({16}, {21, 22}, {16, 32})
        assert all(len(set(of_passage[run])) == 1 for run in runs)
        numbers.add(len(runs))
    assert numbers >= {3, 4}


def test_the_million_is_made_once_and_searched_from_disk(
    passages: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from benchmarks.runs.comparison import million

    made = []

    def read() -> Any:
        made.append(1)
        return passages

    monkeypatch.setattr(million, "read_passages", read)
    methods = ["certified", "calibrated-0.99", "exhaustive", "torch"]
    for _ in range(2):
        results = _run(None, methods, monkeypatch, tmp_path, shape=["million"], documents=300)
        rows = {row.method: row for row in results.rows}
        assert set(rows) == {"certified", "calibrated-0.99"}
        assert {row.k for row in results.rows} == {10}
        assert rows["certified"].exact_sets == 1
        assert rows["certified"].worst_error == 0
        assert rows["calibrated-0.99"].overlap > 0.9
        held = {holding.holder: holding for holding in results.holdings}
        assert held["maxsieve, on disk"].bytes_per_token < 200
        assert "maxsieve, resident, calibrated-0.99" in held
        assert results.absent == [
            "exhaustive on million: too slow to be worth the time",
            "torch on million: would hold 0.00983 GB in memory, where this is searched from disk",
        ]
    assert made == [1]

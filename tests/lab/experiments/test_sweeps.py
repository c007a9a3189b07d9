"""pareto, efficiency and effectiveness, compared with the index and the measures."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.efficiency import at_coverage, effectiveness, efficiency
from maxsieve.lab.experiments.pareto import pareto
from maxsieve.lab.metrics.quality import overlap, quality, ranked
from maxsieve.lab.paper import BALL_CARVING, BANDIT, DOC_UNIFORM
from maxsieve.lab.sweep import (
    ALPHAS,
    GAMMAS,
    QUICK_ALPHAS,
    TAUS,
    Point,
    bandit_points,
    baseline_points,
)

QUICK = Options(quick=True)


def rows_of(table: object) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_exhaustive_settings_recover_the_truth(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    truth = data.truth(10)
    for points in baseline_points(data, 10, QUICK).values():
        assert points[-1].knob == 1.0
        assert {query: found[:10] for query, found in points[-1].answers.items()} == truth
        assert points[-1].coverage == 1.0
    assert {len(GAMMAS), len(TAUS), len(ALPHAS)} == {14, 7, 9}


def test_no_method_finds_what_is_excluded(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    [(query, [own])] = data.exclusions.items()
    allowed = data.index.search(data.queries[query], 1).ids
    assert allowed == [own]
    methods = {BANDIT: bandit_points(data, 10, QUICK), **baseline_points(data, 10, QUICK)}
    assert all(own not in point.answers[query] for points in methods.values() for point in points)
    assert own not in data.truth(10)[query]


def test_pareto_says_what_the_index_says(tiny_dataset: Dataset) -> None:
    result = pareto(tiny_dataset, QUICK)
    data = tiny_dataset.embedded()
    truth = data.truth(5)
    rows = {(row["method"], row["knob"]): row for row in rows_of(result.tables[0])}
    for alpha in QUICK_ALPHAS:
        answers = [
            data.index.search(rows, 5, policy=ms.Bandit(alpha), exclude=data.exclusions.get(query))
            for query, rows in data.queries.items()
        ]
        row = rows[BANDIT, f"alpha = {alpha:g}"]
        assert row["coverage"] == pytest.approx(np.mean([hits.report.coverage for hits in answers]), abs=1e-12)
        overlaps = [overlap(hits.ids, truth[query]) for query, hits in zip(data.queries, answers, strict=True)]
        assert row["Ov@5"] == pytest.approx(np.mean(overlaps), abs=1e-12)
    [chart] = result.charts
    assert [series.name for series in chart.series] == [BANDIT, DOC_UNIFORM, BALL_CARVING]
    assert all(series.x == sorted(series.x) for series in chart.series)


def test_efficiency_names_the_least_coverage_that_suffices(tiny_dataset: Dataset) -> None:
    result = efficiency(tiny_dataset, QUICK)
    data = tiny_dataset.embedded()
    truth = data.truth(50)
    points = bandit_points(data, 5, QUICK)
    good = [point.coverage for point in points if np.mean(point.overlaps(truth, 5)) >= 0.95]
    overlaps = {(row["K"], row["method"]): row for row in rows_of(result.tables[0])}
    assert overlaps[5, BANDIT]["for 95%"] == pytest.approx(min(good))
    assert [table.title for table in result.tables] == [
        f"Coverage needed: {name}@K" for name in ("Overlap", "nDCG", "Recall", "MRR")
    ]
    for table in result.tables:
        for row in rows_of(table):
            assert row["for 90%"] <= row["for 95%"] <= 1.0


def test_effectiveness_is_measured_by_the_judgements(tiny_dataset: Dataset) -> None:
    result = effectiveness(tiny_dataset, QUICK)
    data = tiny_dataset.embedded()
    for k, table in zip((1, 5), result.tables, strict=True):
        full, *others = rows_of(table)
        run = {query: ranked(found) for query, found in data.truth(k).items()}
        expected = quality(run, data.judgements, [f"nDCG@{k}"])[f"nDCG@{k}"]
        assert full[f"nDCG@{k}"] == pytest.approx(np.mean(list(expected.values())))
        assert all(row["nDCG kept"] == pytest.approx(row[f"nDCG@{k}"] / full[f"nDCG@{k}"]) for row in others)
        assert len(others) == 6


def test_effectiveness_needs_judgements(tiny_dataset: Dataset) -> None:
    from dataclasses import replace

    bare = replace(tiny_dataset, _made={0: replace(tiny_dataset.embedded(), judgements={})})
    with pytest.raises(ValueError, match=r"^effectiveness\b.*\btiny\b"):
        effectiveness(bare, QUICK)


def test_a_coverage_is_filled_by_the_most_careful_setting() -> None:
    points = [Point(BANDIT, knob, {"q": coverage}, {}) for knob, coverage in ((0.1, 0.21), (0.2, 0.24), (0.3, 0.3))]
    assert at_coverage(points, 0.2).knob == 0.2
    assert at_coverage(points, 0.4).knob == 0.3
    assert at_coverage(points, 0.1).knob == 0.1

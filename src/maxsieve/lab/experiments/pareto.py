"""Overlap@K against coverage: Bandit over alpha, Doc-Uniform over gamma, Ball-carving over tau."""

from __future__ import annotations

from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Answers
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import mean
from maxsieve.lab.paper import BALL_CARVING, BANDIT, DOC_UNIFORM
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.sweep import Point, all_points

KS = (5, 100)
GOOD = 0.95
KNOBS = {BANDIT: "alpha", DOC_UNIFORM: "gamma", BALL_CARVING: "tau"}


def pareto(dataset: Dataset, options: Options) -> ExperimentResult:
    """The frontier at each K."""
    data = dataset.embedded().first(options.count)
    ks = KS[:1] if options.quick else KS
    truth = data.truth(ks[-1], threads=options.cores)
    tables, charts, remarks = [], [], []
    for k in ks:
        methods = all_points(data, k, options)
        tables.append(_table(methods, truth, k))
        charts.append(_chart(methods, truth, k, data.name))
        remarks += _remarks(methods, truth, k)
    return ExperimentResult(
        "pareto",
        data.name,
        f"Overlap@K with exhaustive scoring against the share of cells computed, "
        f"{data.extent()}. Intervals are 95 % bootstrap intervals of the mean over queries.",
        tables,
        charts,
        remarks,
    )


def _table(methods: dict[str, list[Point]], truth: Answers, k: int) -> Table:
    rows: list[list[Cell]] = []
    for method, points in methods.items():
        for point in points:
            found = mean(point.overlaps(truth, k))
            knob = f"{KNOBS[method]} = {point.knob:g}"
            rows.append([method, knob, point.coverage, found.value, found.low, found.high])
    columns = [Column("method"), Column("knob"), Column("coverage", ".1%")]
    columns += [Column(f"Ov@{k}", ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    return Table(f"Overlap@{k} against coverage", columns, rows, label="fig:results_grid_")


def _chart(methods: dict[str, list[Point]], truth: Answers, k: int, corpus: str) -> Chart:
    series = []
    for method, points in methods.items():
        ordered = sorted(points, key=lambda point: point.coverage)
        means = [mean(point.overlaps(truth, k)) for point in ordered]
        series.append(
            Series(
                method,
                [100 * point.coverage for point in ordered],
                [interval.value for interval in means],
                [interval.low for interval in means],
                [interval.high for interval in means],
                [f"{point.knob:g}" if method == BANDIT else "" for point in ordered],
            )
        )
    title = f"{corpus}: Overlap@{k} against coverage"
    return Chart(f"k{k}", title, "coverage, %", f"Overlap@{k}", series, label="fig:results_grid_")


def _remarks(methods: dict[str, list[Point]], truth: Answers, k: int) -> list[str]:
    reached = {method: cheapest(points, truth, k, GOOD) for method, points in methods.items()}
    words = [
        f"{method} needs {point.coverage:.0%}" if point else f"{method} doesn't reach it"
        for method, point in reached.items()
    ]
    return [f"K = {k}: for an overlap of {GOOD:.0%} on average over these queries, {', '.join(words)} of the cells."]


def cheapest(points: list[Point], truth: Answers, k: int, overlap: float) -> Point | None:
    """The setting with the least coverage whose mean overlap reaches the target."""
    good = [point for point in points if mean(point.overlaps(truth, k)).value >= overlap]
    return min(good, key=lambda point: point.coverage, default=None)

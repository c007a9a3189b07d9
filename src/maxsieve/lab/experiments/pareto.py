"""Overlap@K against coverage: Bandit over alpha, Doc-Uniform over gamma, Ball-carving over tau."""

from __future__ import annotations

from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.metrics.interval import mean
from maxsieve.lab.results import Cell, Chart, Column, Result, Series, Table
from maxsieve.lab.source import Source
from maxsieve.lab.sweep import BALL_CARVING, BANDIT, DOC_UNIFORM, Point, bandit_points, baseline_points

KS = (5, 100)
GOOD = 0.95
KNOBS = {BANDIT: "alpha", DOC_UNIFORM: "gamma", BALL_CARVING: "tau"}


def run(source: Source, options: Options) -> Result:
    """The frontier at each K."""
    data = source.embedded().first(options.count)
    ks = KS[:1] if options.quick else KS
    truth = data.truth(ks[-1], threads=options.cores)
    baselines = baseline_points(data, ks[-1], options)
    tables, charts, remarks = [], [], []
    for k in ks:
        methods = {BANDIT: bandit_points(data, k, options), **baselines}
        tables.append(_table(methods, truth, k))
        charts.append(_chart(methods, truth, k, data.name))
        remarks += _remarks(methods, truth, k)
    return Result(
        "pareto",
        data.name,
        f"Overlap@K with exhaustive scoring against the share of cells computed, {len(data.queries)} queries, "
        f"{data.encoder}. Intervals are 95 % bootstrap intervals of the mean over queries.",
        tables,
        charts,
        remarks,
    )


def _table(methods: dict[str, list[Point]], truth: dict[str, list[str]], k: int) -> Table:
    rows: list[list[Cell]] = []
    for method, points in methods.items():
        for point in points:
            found = mean(point.overlaps(truth, k))
            rows.append(
                [method, f"{KNOBS[method]} = {point.knob:g}", point.coverage, found.value, found.low, found.high]
            )
    columns = [
        Column("method"),
        Column("knob"),
        Column("coverage", ".1%"),
        Column(f"Ov@{k}", ".3f"),
        Column("low", ".3f"),
        Column("high", ".3f"),
    ]
    return Table(f"Overlap@{k} against coverage", columns, rows, label="fig:results_grid_")


def _chart(methods: dict[str, list[Point]], truth: dict[str, list[str]], k: int, corpus: str) -> Chart:
    series = []
    for method, points in methods.items():
        ordered = sorted(points, key=lambda point: point.coverage)
        means = [mean(point.overlaps(truth, k)) for point in ordered]
        series.append(
            Series(
                method,
                [100 * point.coverage for point in ordered],
                [one.value for one in means],
                [one.low for one in means],
                [one.high for one in means],
                [f"{point.knob:g}" if method == BANDIT else "" for point in ordered],
            )
        )
    return Chart(
        f"k{k}",
        f"{corpus}: Overlap@{k} against coverage",
        "coverage, %",
        f"Overlap@{k}",
        series,
        label="fig:results_grid_",
    )


def _remarks(methods: dict[str, list[Point]], truth: dict[str, list[str]], k: int) -> list[str]:
    reached = {method: cheapest(points, truth, k, GOOD) for method, points in methods.items()}
    words = [
        f"{method} needs {point.coverage:.0%}" if point else f"{method} doesn't reach it"
        for method, point in reached.items()
    ]
    return [f"K = {k}: for an overlap of {GOOD:.0%}, {', '.join(words)}."]


def cheapest(points: list[Point], truth: dict[str, list[str]], k: int, overlap: float) -> Point | None:
    """The setting of least coverage whose mean overlap reaches the one wanted."""
    good = [point for point in points if mean(point.overlaps(truth, k)).value >= overlap]
    return min(good, key=lambda point: point.coverage, default=None)


EXPERIMENT = Experiment("pareto", "Overlap@K against coverage, for Bandit and the paper's baselines.", run)

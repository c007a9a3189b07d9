"""Retrieval quality at fixed coverage: what is left of exhaustive scoring's Recall, nDCG and MRR."""

from __future__ import annotations

import numpy as np

from maxsieve.lab.embedded import Embedded
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.paper import EFFECTIVENESS
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.lab.sweep import BANDIT, Point, bandit_points, baseline_points

KS = (1, 5)
COVERAGES = (0.2, 0.4)
SLACK = 0.05
MEASURES = ("Recall", "nDCG", "MRR")
LABELS = {1: "tab:retrieval_effectiveness", 5: "tab:retrieval_real_mm_all"}


def run(source: Source, options: Options) -> Result:
    """Per K a table."""
    data = source.embedded().first(options.count)
    if not data.judgements:
        raise ValueError(f"effectiveness needs judgements, and {data.name} has none")
    truth = data.truth(KS[-1], threads=options.cores)
    baselines = baseline_points(data, KS[-1], options)
    tables = []
    for k in KS:
        methods = {BANDIT: bandit_points(data, k, options), **baselines}
        tables.append(_table(data, methods, truth, k))
    return Result(
        "effectiveness",
        data.name,
        f"Judged quality of the answers at the most careful setting with a mean coverage of about {COVERAGES[0]:.0%} "
        f"and {COVERAGES[1]:.0%} (at most {SLACK:.0%} more, or the cheapest setting there is); {len(data.queries)} "
        f"queries, {data.encoder}. The paper's column is the share kept on average over its nine corpora (K = 1).",
        tables,
    )


def _table(data: Embedded, methods: dict[str, list[Point]], truth: dict[str, list[str]], k: int) -> Table:
    full = _scores(data, truth, k)
    rows: list[list[Cell]] = [["Exhaustive", None, 1.0, *full, *[1.0] * len(full), None]]
    for coverage in COVERAGES:
        for method, points in methods.items():
            chosen = at_coverage(points, coverage)
            scores = _scores(data, chosen.answers, k)
            kept = [score / of if of else None for score, of in zip(scores, full, strict=True)]
            paper = EFFECTIVENESS.get((method, coverage)) if k == 1 else None
            rows.append([method, chosen.knob, chosen.coverage, *scores, *kept, paper])
    columns = [Column("method"), Column("knob", "g"), Column("coverage", ".1%")]
    columns += [Column(f"{name}@{k}", ".3f") for name in MEASURES]
    columns += [Column(f"{name} kept", ".1%") for name in MEASURES]
    return Table(
        f"Quality at fixed coverage, K = {k}", [*columns, Column("paper: nDCG@1 kept", ".1%")], rows, LABELS[k]
    )


def at_coverage(points: list[Point], coverage: float) -> Point:
    """The most careful setting that stays within the coverage, give or take `SLACK`; if none does, the cheapest.

    (Not the nearest: where settings crowd at one coverage, it would be an arbitrary one of them.)
    """
    within = [point for point in points if point.coverage <= coverage + SLACK]
    if within:
        return max(within, key=lambda point: point.coverage)
    return min(points, key=lambda point: point.coverage)


def _scores(data: Embedded, answers: dict[str, list[str]], k: int) -> list[float]:
    names = [f"{name}@{k}" for name in MEASURES]
    found = data.quality(answers, names)
    return [float(np.mean(list(found[name].values()))) for name in names]


EXPERIMENT = Experiment("effectiveness", "Judged quality kept at 20 % and 40 % coverage.", run)

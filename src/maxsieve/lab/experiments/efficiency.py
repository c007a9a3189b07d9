"""How much coverage each method needs for 90 % and 95 % of what exhaustive scoring reaches, by four measures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxsieve.lab.embedded import Embedded
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.paper import EFFICIENCY
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.lab.sweep import BANDIT, Point, bandit_points, baseline_points

KS = (5, 10, 50)
SHARES = (0.90, 0.95)
OVERLAP = "Overlap"
QUALITIES = ("nDCG", "Recall", "MRR")

Score = Callable[[dict[str, list[str]], int], float]


def run(source: Source, options: Options) -> Result:
    """Per measure a table, methods by K."""
    data = source.embedded().first(options.count)
    truth = data.truth(KS[-1], threads=options.cores)
    baselines = baseline_points(data, KS[-1], options)
    by_k = {k: {BANDIT: bandit_points(data, k, options), **baselines} for k in KS}
    measures: dict[str, Score] = {OVERLAP: _overlap(truth)}
    if data.judgements:
        measures.update({name: _quality(data, name) for name in QUALITIES})
    tables = [_table(name, score, by_k, truth) for name, score in measures.items()]
    return Result(
        "efficiency",
        data.name,
        "The least coverage at which a method keeps 90 % and 95 % of exhaustive scoring's own figure, over the "
        f"settings of `pareto`; {len(data.queries)} queries, {data.encoder}. The paper's column is its mean over the "
        "BEIR corpora with ColBERTv2 vectors and 32 query tokens.",
        tables,
        remarks=_remarks(tables, data),
    )


def _overlap(truth: dict[str, list[str]]) -> Score:
    def score(answers: dict[str, list[str]], k: int) -> float:
        return float(np.mean(Point("", 0, {}, answers).overlaps(truth, k)))

    return score


def _quality(data: Embedded, name: str) -> Score:
    def score(answers: dict[str, list[str]], k: int) -> float:
        measure = f"{name}@{k}"
        return float(np.mean(list(data.quality(answers, [measure])[measure].values())))

    return score


def _table(name: str, score: Score, by_k: dict[int, dict[str, list[Point]]], truth: dict[str, list[str]]) -> Table:
    rows: list[list[Cell]] = []
    for k, methods in by_k.items():
        full = score(truth, k)
        for method, points in methods.items():
            scores = [(point.coverage, score(point.answers, k)) for point in points]
            needed = [_least(scores, share * full) for share in SHARES]
            saving = 1 / needed[-1] if needed[-1] else None
            paper = EFFICIENCY.get((name, k, method))
            rows.append([k, method, *needed, saving, paper])
    columns = [Column("K"), Column("method"), *(Column(f"for {share:.0%}", ".1%") for share in SHARES)]
    columns += [Column("saving at 95%", ".1f"), Column("paper, for 95%")]
    label = "tab:main_benchmark_universal_eff_combined" if name in (OVERLAP, "nDCG") else ""
    return Table(
        f"Coverage needed: {name}@K", columns, rows, label or f"tab:per_dataset_eff_{name.lower()}_beir_combinedK"
    )


def _least(scores: list[tuple[float, float]], wanted: float) -> float | None:
    return min((coverage for coverage, score in scores if score >= wanted), default=None)


def _remarks(tables: list[Table], data: Embedded) -> list[str]:
    floor = min(1.0, 4 / data.query_tokens)
    return [
        f"A round of 4 tokens is the least Bandit can reveal: with {data.query_tokens:.1f} query tokens on average "
        f"that is about {floor:.0%} coverage, where the paper's 32 tokens allow 12.5 %."
    ]


EXPERIMENT = Experiment("efficiency", "Coverage needed for 90 % and 95 % of exhaustive scoring's figures.", run)

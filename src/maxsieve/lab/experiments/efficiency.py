"""The coverage that a method needs to reach a share of the exhaustive quality, and the reverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Answers, Embedded
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.paper import EFFECTIVENESS, EFFICIENCY
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.lab.sweep import Point, all_points

KS = (5, 10, 50)
SHARES = (0.90, 0.95)
OVERLAP = "Overlap"
QUALITIES = ("nDCG", "Recall", "MRR")

FIXED_KS = (1, 5)
COVERAGES = (0.2, 0.4)
SLACK = 0.05
MEASURES = ("Recall", "nDCG", "MRR")
LABELS = {1: "tab:retrieval_effectiveness", 5: "tab:retrieval_real_mm_all"}

Score = Callable[[Answers, int], float]


def efficiency(dataset: Dataset, options: Options) -> ExperimentResult:
    """The coverage for 90 % and 95 % of what exhaustive scoring reaches: per measure a table, methods by K."""
    data = dataset.embedded().first(options.count)
    truth = data.truth(KS[-1], threads=options.cores)
    by_k = {k: all_points(data, k, options) for k in KS}
    measures: dict[str, Score] = {OVERLAP: lambda answers, k: float(np.mean(overlaps(answers, truth, k)))}
    if data.judgements:
        measures.update({name: _judged(data, name) for name in QUALITIES})
    floor = min(1.0, 4 / data.query_tokens)
    return ExperimentResult(
        "efficiency",
        data.name,
        "The least coverage at which a method keeps 90 % and 95 % of exhaustive scoring's own figure, over the "
        f"settings of `pareto`; {data.extent()}. The paper's column is its mean over the BEIR corpora with ColBERTv2 "
        "vectors and 32 query tokens.",
        [_needed(name, score, by_k, truth) for name, score in measures.items()],
        remarks=[
            f"A round of 4 tokens is the least Bandit can reveal: with {data.query_tokens:.1f} query tokens on average "
            f"that is about {floor:.0%} coverage, where the paper's 32 tokens allow 12.5 %."
        ],
    )


def _judged(data: Embedded, name: str) -> Score:
    return lambda answers, k: _qualities(data, answers, [f"{name}@{k}"])[0]


def _needed(name: str, score: Score, by_k: dict[int, dict[str, list[Point]]], truth: Answers) -> Table:
    rows: list[list[Cell]] = []
    for k, methods in by_k.items():
        full = score(truth, k)
        for method, points in methods.items():
            scores = [(point.coverage, score(point.answers, k)) for point in points]
            needed = [min((at for at, score in scores if score >= share * full), default=None) for share in SHARES]
            saving = 1 / needed[-1] if needed[-1] else None
            rows.append([k, method, *needed, saving, EFFICIENCY.get((name, k, method))])
    columns = [Column("K"), Column("method"), *(Column(f"for {share:.0%}", ".1%") for share in SHARES)]
    columns += [Column("saving at 95%", ".1f"), Column("paper, for 95%")]
    own = f"tab:per_dataset_eff_{name.lower()}_beir_combinedK"
    label = "tab:main_benchmark_universal_eff_combined" if name in (OVERLAP, "nDCG") else own
    return Table(f"Coverage needed: {name}@K", columns, rows, label)


def effectiveness(dataset: Dataset, options: Options) -> ExperimentResult:
    """The share of exhaustive scoring's Recall, nDCG and MRR at fixed coverage: per K a table."""
    data = dataset.embedded().first(options.count)
    if not data.judgements:
        raise ValueError(f"effectiveness needs judgements, and {data.name} has none")
    truth = data.truth(FIXED_KS[-1], threads=options.cores)
    return ExperimentResult(
        "effectiveness",
        data.name,
        f"Judged quality of the answers at the most careful setting with a mean coverage of about {COVERAGES[0]:.0%} "
        f"and {COVERAGES[1]:.0%} (at most {SLACK:.0%} more, or the cheapest setting there is); {data.extent()}. The "
        "paper's column is the share kept on average over its nine corpora (K = 1).",
        [_kept(data, all_points(data, k, options), truth, k) for k in FIXED_KS],
    )


def _kept(data: Embedded, methods: dict[str, list[Point]], truth: Answers, k: int) -> Table:
    names = [f"{name}@{k}" for name in MEASURES]
    full = _qualities(data, truth, names)
    rows: list[list[Cell]] = [["Exhaustive", None, 1.0, *full, *[1.0] * len(full), None]]
    for coverage in COVERAGES:
        for method, points in methods.items():
            chosen = at_coverage(points, coverage)
            scores = _qualities(data, chosen.answers, names)
            kept = [score / of if of else None for score, of in zip(scores, full, strict=True)]
            paper = EFFECTIVENESS.get((method, coverage)) if k == 1 else None
            rows.append([method, chosen.knob, chosen.coverage, *scores, *kept, paper])
    columns = [Column("method"), Column("knob", "g"), Column("coverage", ".1%")]
    columns += [Column(name, ".3f") for name in names] + [Column(f"{name} kept", ".1%") for name in MEASURES]
    columns.append(Column("paper: nDCG@1 kept", ".1%"))
    return Table(f"Quality at fixed coverage, K = {k}", columns, rows, LABELS[k])


def at_coverage(points: list[Point], coverage: float) -> Point:
    """The most careful setting whose coverage is at most this, up to `SLACK`; if there is none, the cheapest.

    (The nearest setting would be arbitrary if many settings have about the same coverage.)
    """
    within = [point for point in points if point.coverage <= coverage + SLACK]
    if within:
        return max(within, key=lambda point: point.coverage)
    return min(points, key=lambda point: point.coverage)


def _qualities(data: Embedded, answers: Answers, measures: list[str]) -> list[float]:
    """The mean over queries by each measure."""
    found = data.quality(answers, measures)
    return [float(np.mean(list(found[name].values()))) for name in measures]

"""One parameter of Bandit at a time: alpha, margin (documents beyond K to rescore), block (tokens per round)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from maxsieve import Bandit
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import answers_of, mean_coverage
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.paper import ALPHA_GUIDANCE, MARGIN
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.lab.times import Timed, measure, timed_queries

K = 5
MARGINS = (0, 5, 10)
BLOCKS = (1, 2, 4, 8, 16, 32)
REGIMES = {0.1: "aggressive", 0.2: "deployed", 0.3: "conservative", 0.5: "careful", 1.0: "the paper's radius, unshrunk"}
SEEDS = 5


def margin(dataset: Dataset, options: Options) -> ExperimentResult:
    """Margins 0, 5 and 10."""
    return _ablate("margin", {margin: Bandit(0.2, margin=margin) for margin in MARGINS}, MARGIN, dataset, options)


def block(dataset: Dataset, options: Options) -> ExperimentResult:
    """Blocks of 1 to 32 tokens."""
    return _ablate("block", {block: Bandit(0.2, block=block) for block in BLOCKS}, {}, dataset, options)


def _ablate(
    knob: str, settings: dict[int, Bandit], paper: Mapping[int, Sequence[str]], dataset: Dataset, options: Options
) -> ExperimentResult:
    """Coverage, overlap and time for each setting."""
    data = timed_queries(dataset.embedded(), options)
    times = measure(data, [Timed(policy, K) for policy in settings.values()], options)
    truth = data.truth(K, threads=options.cores)
    rows: list[list[Cell]] = []
    for setting, policy in settings.items():
        found = times[Timed(policy, K)]
        rounds = sum(len(hits.report.rounds) for hits in found.hits) / len(found.hits)
        figures = [found.coverage, found.overlap(truth, K), found.rescored, rounds, found.milliseconds]
        rows.append([setting, *figures, ", ".join(paper.get(setting, ())) or None])
    columns = [Column(knob), Column("coverage", ".1%"), Column(f"Ov@{K}", ".3f"), Column("rescored", ".1f")]
    columns += [Column("rounds", ".1f"), Column("ms", ".2f"), Column("paper: coverage, Ov@5")]
    summary = (
        f"Bandit at alpha = 0.2, K = {K}, delta = 0.01, one thread, {data.extent()}; medians of milliseconds, means of "
        "the rest."
    )
    label = "tab:ablations_M" if paper else ""
    return ExperimentResult(knob, data.name, summary, [Table(f"Bandit by {knob}", columns, rows, label)])


def alpha_guidance(dataset: Dataset, options: Options) -> ExperimentResult:
    """What to expect of each alpha, and how much the order in which tokens are drawn matters: the range over seeds."""
    data = dataset.embedded().first(options.count)
    truth = data.truth(K, threads=options.cores)
    seeds = range(2 if options.quick else SEEDS)
    rows: list[list[Cell]] = []
    with options.bar("alpha", len(REGIMES) * len(seeds) * len(data.queries)) as advance:
        for alpha, regime in REGIMES.items():
            coverages, found = [], []
            for seed in seeds:
                hits = data.search(K, Bandit(alpha, seed=seed), threads=options.cores, advance=advance)
                coverages.append(mean_coverage(hits))
                found.append(np.mean(overlaps(answers_of(hits), truth, K)))
            paper = ALPHA_GUIDANCE.get(alpha, (None, None))
            spread = [f"{min(coverages):.1%}-{max(coverages):.1%}", f"{min(found):.3f}-{max(found):.3f}"]
            means = [float(np.mean(coverages)), float(np.mean(found))]
            rows.append([alpha, regime, means[0], spread[0], paper[0], means[1], spread[1], paper[1]])
    columns = [Column("alpha", "g"), Column("regime"), Column("coverage", ".1%"), Column("over seeds")]
    columns += [Column("paper: coverage"), Column(f"Ov@{K}", ".3f"), Column("over seeds"), Column(f"paper: Ov@{K}")]
    summary = (
        f"Bandit at K = {K}, margin 5, block 4, delta 0.01: means over {len(data.queries)} queries and the range over "
        f"{len(seeds)} seeds; {data.encoder}. The paper's ranges are over four corpora."
    )
    return ExperimentResult(
        "alpha-guidance", data.name, summary, [Table("Choosing alpha", columns, rows, "tab:alpha_guidance")]
    )

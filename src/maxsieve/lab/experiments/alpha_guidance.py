"""What to expect of each alpha: coverage and overlap, and how much the order in which tokens are drawn matters."""

from __future__ import annotations

import numpy as np

from maxsieve import Bandit
from maxsieve.lab.embedded import mean_coverage, to_strings
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.metrics.fidelity import overlap
from maxsieve.lab.paper import ALPHA_GUIDANCE
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source

REGIMES = {0.1: "aggressive", 0.2: "deployed", 0.3: "conservative", 0.5: "careful", 1.0: "the paper's radius, unshrunk"}
SEEDS = 5
K = 5


def run(source: Source, options: Options) -> Result:
    """One table: means and the range over seeds."""
    data = source.embedded().first(options.count)
    truth = data.truth(K, threads=options.cores)
    seeds = range(2 if options.quick else SEEDS)
    rows: list[list[Cell]] = []
    with options.bar("alpha", len(REGIMES) * len(seeds) * len(data.queries)) as advance:
        for alpha, regime in REGIMES.items():
            coverages, overlaps = [], []
            for seed in seeds:
                hits = data.search(K, Bandit(alpha, seed=seed), threads=options.cores, advance=advance)
                coverages.append(mean_coverage(list(hits.values())))
                overlaps.append(np.mean([overlap(to_strings(found), truth[query]) for query, found in hits.items()]))
            paper = ALPHA_GUIDANCE.get(alpha, (None, None))
            spread = [f"{min(coverages):.1%}-{max(coverages):.1%}", f"{min(overlaps):.3f}-{max(overlaps):.3f}"]
            means = [float(np.mean(coverages)), float(np.mean(overlaps))]
            rows.append([alpha, regime, means[0], spread[0], paper[0], means[1], spread[1], paper[1]])
    columns = [
        Column("alpha", "g"),
        Column("regime"),
        Column("coverage", ".1%"),
        Column("over seeds"),
        Column("paper: coverage"),
        Column(f"Ov@{K}", ".3f"),
        Column("over seeds"),
        Column(f"paper: Ov@{K}"),
    ]
    summary = (
        f"Bandit at K = {K}, margin 5, block 4, delta 0.01: means over {len(data.queries)} queries and the range over "
        f"{len(seeds)} seeds; {data.encoder}. The paper's ranges are over four corpora."
    )
    return Result("alpha-guidance", data.name, summary, [Table("Choosing alpha", columns, rows, "tab:alpha_guidance")])


EXPERIMENT = Experiment("alpha-guidance", "Coverage and overlap of each alpha, over seeds.", run)

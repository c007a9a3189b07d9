"""The engine's Bandit, which reveals int8 proxies, beside a simulation of the paper's Algorithm 1 on exact cells."""

from __future__ import annotations

import numpy as np

from maxsieve import Bandit
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, to_strings
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.metrics.quality import overlap
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.spec import exact_model, sieve

KS = (5, 100)
ALPHAS = (0.1, 0.2, 0.3, 0.5, 1.0)
QUERIES = 100


def simulation(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for each K and alpha; a query's number is its seed."""
    data = dataset.embedded().first(options.count or QUERIES)
    ks = [k for k in KS if k < len(data.index)]
    found: dict[tuple[int, float], list[tuple[float, float, float, float]]] = {}
    with options.bar("simulating", len(data.queries)) as advance:
        for seed, (query, rows) in enumerate(data.queries.items()):
            cells = data.cells(rows, threads=options.cores)
            places = data.candidates(query)
            model = exact_model(rows, cells[places], data.norm_bounds[places])
            scores = cells[places].astype(np.float64).sum(axis=1)
            names = [data.ids[place] for place in places.tolist()]
            exclude = data.excluded(query)
            for k in ks:
                truth = [names[place] for place in np.argsort(-scores, kind="stable")[:k]]
                for alpha in ALPHAS:
                    survivors, _, coverage, _ = sieve(model, k, alpha=alpha, seed=seed)
                    best = survivors[np.argsort(-scores[survivors], kind="stable")[:k]]
                    simulated = overlap([names[place] for place in best], truth)
                    policy = Bandit(alpha, seed=seed)
                    hits = data.index.search(rows, k, policy=policy, exclude=exclude, threads=options.cores)
                    engine = overlap(to_strings(hits), truth)
                    found.setdefault((k, alpha), []).append((simulated, engine, coverage, hits.report.coverage))
            advance(1)
    return _result(data, found)


def _result(
    data: Embedded, found: dict[tuple[int, float], list[tuple[float, float, float, float]]]
) -> ExperimentResult:
    rows: list[list[Cell]] = []
    apart = 0
    for (k, alpha), values in found.items():
        simulated, engine, coverage, own = (list(column) for column in zip(*values, strict=True))
        gap = difference(engine, simulated)
        apart += not gap.low <= 0 <= gap.high
        overlaps = [mean(simulated).value, mean(engine).value, gap.value, gap.low, gap.high]
        rows.append([k, alpha, *overlaps, mean(coverage).value, mean(own).value])
    columns = [Column("K"), Column("alpha", "g"), Column("overlap, exact cells", ".3f")]
    columns.append(Column("overlap, engine", ".3f"))
    columns += [Column("difference", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    columns += [Column("coverage, exact cells", ".1%"), Column("coverage, engine", ".1%")]
    return ExperimentResult(
        "simulation",
        data.name,
        "Algorithm 1 on exact cells in float64 (margin 5, block 4, delta 0.01, c = 1) and the engine on its int8 "
        f"proxies, with the same permutations; {data.extent(tokens=True)}. Differences are paired, with 95 % bootstrap "
        "intervals.",
        [Table("The engine beside exact cells", columns, rows)],
        remarks=[f"Of {len(rows)} settings, {apart} have an interval of the difference that leaves out 0."],
    )

"""The engine's Bandit, which reveals int8 proxies, beside a simulation of the paper's Algorithm 1 on exact cells."""

from __future__ import annotations

import numpy as np

from maxsieve import Bandit
from maxsieve.lab.embedded import Embedded
from maxsieve.lab.exact_cells import exact_model, norm_bounds
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.metrics.fidelity import overlap
from maxsieve.lab.metrics.interval import difference, mean
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.spec.bandit import sieve

KS = (5, 100)
ALPHAS = (0.1, 0.2, 0.3, 0.5, 1.0)
QUERIES = 100


def run(source: Source, options: Options) -> Result:
    """A row for each K and alpha; a query's number is its seed."""
    data = source.embedded().first(options.count or QUERIES)
    ks = [k for k in KS if k < len(data.index)]
    ids = [str(one) for one in data.index.ids]
    nu = norm_bounds(data)
    found: dict[tuple[int, float], list[tuple[float, float, float, float]]] = {}
    with options.bar("simulating", len(data.queries)) as advance:
        for seed, (query, rows) in enumerate(data.queries.items()):
            cells = data.cells(rows, threads=options.cores)
            own = data.exclusions.get(query, [])
            places = [place for place, one in enumerate(ids) if one not in own and cells[place, 0] > -np.inf]
            model = exact_model(rows, cells[places], nu[places])
            scores = cells[places].astype(np.float64).sum(axis=1)
            names = [ids[place] for place in places]
            for k in ks:
                truth = [names[place] for place in np.argsort(-scores, kind="stable")[:k]]
                for alpha in ALPHAS:
                    survivors, _, coverage, _ = sieve(model, k, alpha=alpha, seed=seed)
                    best = survivors[np.argsort(-scores[survivors], kind="stable")[:k]]
                    simulated = overlap([names[place] for place in best], truth)
                    hits = data.index.search(
                        rows,
                        k,
                        policy=Bandit(alpha, seed=seed),
                        exclude=data.exclusions.get(query),
                        threads=options.cores,
                    )
                    engine = overlap([str(one) for one in hits.ids], truth)
                    found.setdefault((k, alpha), []).append((simulated, engine, coverage, hits.report.coverage))
            advance(1)
    return _result(data, found)


def _result(data: Embedded, found: dict[tuple[int, float], list[tuple[float, float, float, float]]]) -> Result:
    rows: list[list[Cell]] = []
    apart = 0
    for (k, alpha), values in found.items():
        simulated, engine, coverage, own = (list(column) for column in zip(*values, strict=True))
        gap = difference(engine, simulated)
        apart += not gap.low <= 0 <= gap.high
        overlaps = [mean(simulated).value, mean(engine).value, gap.value, gap.low, gap.high]
        rows.append([k, alpha, *overlaps, mean(coverage).value, mean(own).value])
    columns = [
        Column("K"),
        Column("alpha", "g"),
        Column("overlap, exact cells", ".3f"),
        Column("overlap, engine", ".3f"),
    ]
    columns += [Column("difference", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    columns += [Column("coverage, exact cells", ".1%"), Column("coverage, engine", ".1%")]
    return Result(
        "simulation",
        data.name,
        "Algorithm 1 on exact cells in float64 (margin 5, block 4, delta 0.01, c = 1) and the engine on its int8 "
        f"proxies, with the same permutations; {len(data.queries)} queries of {data.query_tokens:.1f} tokens on "
        f"average, {data.encoder}. Differences are paired, with 95 % bootstrap intervals.",
        [Table("The engine beside exact cells", columns, rows)],
        remarks=[f"Of {len(rows)} settings, {apart} have an interval of the difference that leaves out 0."],
    )


EXPERIMENT = Experiment("simulation", "The engine's Bandit beside a simulation on exact cells.", run)

"""The same measures for two sets of vectors of one corpus: full width, and reduced by the collection's projection."""

from __future__ import annotations

from maxsieve import Bandit, Certified
from maxsieve.lab.embedded import Embedded, mean_coverage, mean_rescored, to_strings
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.experiments.pareto import cheapest
from maxsieve.lab.metrics.fidelity import overlap
from maxsieve.lab.metrics.interval import mean
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.lab.sweep import bandit_points
from maxsieve.text import load_encoder

K = 5


def run(source: Source, options: Options) -> Result:
    """One table, a row for each set of vectors."""
    source.texts("encoders")
    dims = sorted({source.dim, load_encoder(source.encoder).dim})
    source.embed(dims)
    rows = [_row(source.embedded(dim).first(options.count), options) for dim in dims]
    columns = [
        Column("vectors"),
        Column("nDCG@10", ".3f"),
        Column("Bandit 0.2 coverage", ".1%"),
        Column(f"Bandit 0.2 Ov@{K}", ".3f"),
        Column("coverage for 95%", ".1%"),
        Column("Certified rescored", ".1f"),
        Column("bytes per token", ".0f"),
    ]
    data = source.embedded().first(options.count)
    summary = f"K = {K}, {len(data.queries)} queries; nDCG@10 of exhaustive scoring."
    return Result("encoders", data.name, summary, [Table("Two sets of vectors", columns, rows)])


def _row(data: Embedded, options: Options) -> list[Cell]:
    truth = data.truth(10, threads=options.cores)
    scores = data.quality(truth, ["nDCG@10"])["nDCG@10"]
    bandit = data.search(K, Bandit(0.2), threads=options.cores)
    overlaps = [overlap(to_strings(found), truth[query][:K]) for query, found in bandit.items()]
    point = cheapest(bandit_points(data, K, options), truth, K, 0.95)
    certified = data.search(K, Certified(), threads=options.cores)
    return [
        data.encoder,
        mean(list(scores.values())).value,
        mean_coverage(list(bandit.values())),
        mean(overlaps).value,
        point.coverage if point else None,
        mean_rescored(list(certified.values())),
        data.index.nbytes / data.index.tokens,
    ]


EXPERIMENT = Experiment("encoders", "The sieve's figures for full and for reduced vectors.", run)

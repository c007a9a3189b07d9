"""How often Bandit misses the true answer, against its delta; and whether certificates hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxsieve import Certified, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, to_strings
from maxsieve.lab.experiments import Options
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.synthetic_cells import KINDS, ROWS, TOKENS, WINNERS, row_sums, synthetic_models
from maxsieve.policies import Radius
from maxsieve.spec import RevealModel, exact_model, sieve, top_k

K = WINNERS
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
QUICK_DELTAS = (0.5, 0.1, 0.01)
DEFAULT_DELTA = 0.01
DOCUMENTS = 1000
"""How many documents are sampled from the corpus: the specification's sieve is slow."""
SEEDS, QUICK_SEEDS = 5, 2
MATRICES, QUICK_MATRICES = 200, 30
CERTIFIED_KS = (5, 100)


class Rule(NamedTuple):
    """A radius and its alpha."""

    radius: Radius
    alpha: float

    def __str__(self) -> str:
        return f"{self.radius}, alpha = {self.alpha:g}"


RULES = (Rule("paper", 1.0), Rule("paper", 0.2), Rule("serfling", 1.0))
CLAIMED = (RULES[0], RULES[2])
"""Rules with a claimed miss rate of at most delta: by the paper under an assumption, or proven."""


@dataclass
class MissCount:
    """The number of answers, of those that were not the true top K, and the sum of coverages."""

    runs: int = 0
    misses: int = 0
    coverage: float = 0.0

    @property
    def rate(self) -> float:
        """Misses per run."""
        return self.misses / self.runs

    @property
    def least(self) -> float:
        """The lower end of the rate's 95 % interval (Wilson's), runs being independent."""
        z, n, p = 1.96, self.runs, self.rate
        centre, spread = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return float(max(0.0, (centre - spread) / (1 + z * z / n)))


MissCounts = dict[tuple[Rule, float], MissCount]


def miss_rates(dataset: Dataset, options: Options) -> ExperimentResult:
    """Miss rates on the corpus and on made-up matrices, a chart of each, and the certificates."""
    data = dataset.embedded().first(options.count)
    deltas = QUICK_DELTAS if options.quick else DELTAS
    seeds, matrices = (QUICK_SEEDS, QUICK_MATRICES) if options.quick else (SEEDS, MATRICES)
    sample = sampled(data, DOCUMENTS)
    on_corpus = _tallies(real_models(sample, options), deltas, seeds, len(data.queries), options)
    synthetic = {
        kind.__name__.replace("_", " "): _tallies(synthetic_models(kind, matrices), deltas, 1, matrices, options)
        for kind in KINDS
    }
    on_synthetic = {kind: (tallies, RULES[0]) for kind, tallies in synthetic.items()}
    checks = certificates(data, options)
    return ExperimentResult(
        "miss-rates",
        data.name,
        f"Share of answers that differ from the true top {K}, over orders of the query's tokens, when the sieve sees "
        f"exact cells as in the theorem: {len(data.queries)} queries with {seeds} seeds each on {len(sample.index):,} "
        f"documents of {data.encoder}, and {matrices} matrices of each made-up kind ({ROWS} x {TOKENS}). Margin 5, "
        "rounds of 4 tokens.",
        [
            _table("Miss rates on the corpus", {data.name: on_corpus}, deltas),
            _table("Miss rates on made-up cells", synthetic, deltas),
            checks,
        ],
        [
            _chart("corpus", f"{data.name}: miss rate against delta", {str(rule): (on_corpus, rule) for rule in RULES}),
            _chart("made-up", f"Made-up cells: miss rate against delta, {RULES[0]}", on_synthetic),
        ],
        [*_remarks({data.name: on_corpus, **synthetic}, deltas), *_certificate_remarks(checks)],
    )


def sampled(data: Embedded, count: int) -> Embedded:
    """The same queries on a sample of the documents with tokens, with a fixed seed."""
    places = data.searchable.tolist()
    if len(places) > count:
        places = sorted(random.Random(0).sample(places, count))
    return data.with_documents([data.ids[place] for place in places])


def real_models(data: Embedded, options: Options) -> Iterator[tuple[RevealModel, F32]]:
    """For each query the model of `spec.reveal_exact` on its candidates, and their scores."""
    for query, rows in data.queries.items():
        kept = data.candidates(query)
        cells = data.cells(rows, threads=options.cores)[kept]
        yield exact_model(rows, cells, data.norm_bounds[kept]), row_sums(cells)


def _tallies(
    models: Iterator[tuple[RevealModel, F32]], deltas: tuple[float, ...], seeds: int, total: int, options: Options
) -> MissCounts:
    found = {(rule, delta): MissCount() for rule in RULES for delta in deltas}
    with options.bar("sieving", total) as advance:
        for number, (model, scores) in enumerate(models):
            truth = set(top_k(scores, K))
            for seed in range(number * seeds, (number + 1) * seeds):
                for (rule, delta), tally in found.items():
                    survivors, _, coverage, _ = sieve(
                        model, K, alpha=rule.alpha, delta=delta, seed=seed, radius=rule.radius
                    )
                    tally.runs += 1
                    tally.misses += not truth <= set(survivors.tolist())
                    tally.coverage += coverage
            advance(1)
    return found


def certificates(data: Embedded, options: Options) -> Table:
    """Certified against Exhaustive on every query, and every proxy against its error bound."""
    rows: list[list[Cell]] = []
    for k in CERTIFIED_KS:
        exhaustive = data.search(k, Exhaustive(), threads=options.cores)
        certified = data.search(k, Certified(), threads=options.cores)
        wrong = sum(
            to_strings(certified[query]) != to_strings(true) or not np.array_equal(certified[query].scores, true.scores)
            for query, true in exhaustive.items()
        )
        rows.append([f"Certified differs from Exhaustive, K = {k}", "query", len(exhaustive), wrong])
    broken = 0
    for query in data.queries.values():
        lower, upper = (bound[data.searchable] for bound in data.score_bounds(query, threads=options.cores))
        scores = data.scores(query, threads=options.cores)[data.searchable]
        broken += int(((scores < lower) | (scores > upper)).sum())
    rows.append(["|S - P| > eps", "query and document", len(data.queries) * len(data.searchable), broken])
    columns = [Column("violation"), Column("checked for each"), Column("checked", ","), Column("violations", ",")]
    note = "Ids, order and scores must be equal; the score S must lie within eps of its proxy P."
    return Table("Certificates", columns, rows, note=note)


def _table(title: str, found: dict[str, MissCounts], deltas: tuple[float, ...]) -> Table:
    rows: list[list[Cell]] = []
    for name, tallies in found.items():
        for rule in RULES:
            usual = tallies[rule, DEFAULT_DELTA]
            rates = [tallies[rule, delta].rate for delta in deltas]
            rows.append([name, str(rule), usual.runs, *rates, usual.coverage / usual.runs])
    columns = [Column("cells"), Column("radius"), Column("runs", ",")]
    columns += [Column(f"delta {delta:g}", ".4f") for delta in deltas]
    columns.append(Column(f"coverage, delta {DEFAULT_DELTA:g}", ".1%"))
    note = (
        f"Share of runs whose answer is not the true top {K}; a run is one matrix and one order of the query's tokens."
    )
    return Table(title, columns, rows, note=note)


def _chart(name: str, title: str, lines: dict[str, tuple[MissCounts, Rule]]) -> Chart:
    """A chart with logarithmic axes; zero misses are drawn at half a miss."""
    series = []
    for words, (tallies, wanted) in lines.items():
        points = [(delta, tally) for (rule, delta), tally in tallies.items() if rule == wanted]
        rates = [max(tally.rate, 0.5 / tally.runs) for _, tally in points]
        notes = ["" if tally.misses else "0" for _, tally in points]
        series.append(Series(words, [delta for delta, _ in points], rates, notes=notes))
    deltas = sorted({delta for tallies, _ in lines.values() for _, delta in tallies})
    series.append(Series("miss rate = delta", deltas, deltas))
    return Chart(name, title, "delta", "miss rate (0: none, at half a miss)", series, x_scale="log", y_scale="log")


def _remarks(found: dict[str, MissCounts], deltas: tuple[float, ...]) -> list[str]:
    remarks = []
    for rule in RULES:
        over = {
            name: [delta for delta in deltas if tallies[rule, delta].least > delta] for name, tallies in found.items()
        }
        words = [f"{name} ({_at(some, deltas)})" for name, some in over.items() if some]
        claim = "" if rule in CLAIMED else " (for which nothing is claimed)"
        remarks.append(
            f"{rule}{claim}: misses are more frequent than delta, beyond the 95 % interval, on {'; '.join(words)}."
            if words
            else f"{rule}{claim}: on no kind of cells are misses more frequent than delta beyond the 95 % interval."
        )
    serfling = [tallies[RULES[2], DEFAULT_DELTA] for tallies in found.values()]
    paper = [tallies[RULES[0], DEFAULT_DELTA] for tallies in found.values()]
    shares = [[count.coverage / count.runs for count in some] for some in (serfling, paper)]
    remarks.append(
        f"What that costs at delta = {DEFAULT_DELTA:g}: {RULES[2]} reveals {min(shares[0]):.0%} to "
        f"{max(shares[0]):.0%} of the cells, {RULES[0]} {min(shares[1]):.0%} to {max(shares[1]):.0%}."
    )
    return remarks


def _at(some: list[float], deltas: tuple[float, ...]) -> str:
    return "at every delta" if len(some) == len(deltas) else f"at delta = {', '.join(f'{delta:g}' for delta in some)}"


def _certificate_remarks(checks: Table) -> list[str]:
    violations = sum(int(row[3] or 0) for row in checks.rows)
    queries, pairs = int(checks.rows[0][2] or 0), int(checks.rows[-1][2] or 0)
    return [
        f"Certificates: {violations} violations in {len(CERTIFIED_KS)} x {queries:,} answers and {pairs:,} bounds of "
        "scores."
    ]

"""Overlap against time for every policy; `Calibrated` runs on held-out queries."""

from __future__ import annotations

import random
from dataclasses import replace

from maxsieve import Bandit, Calibrated, Certified, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, answers_of, policy_name
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.guarantee import KS, TARGETS
from maxsieve.lab.metrics.confidence import Mean, mean
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.metrics.sentences import faster, interval, speed
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.times import Timed, Times, measure
from maxsieve.policies import Policy
from maxsieve.spec import queries_needed

ALPHAS = (0.1, 0.2, 0.3, 0.5)
TIMED, QUICK_TIMED = 20, 5
"""How many queries are timed for each policy; the overlap is over all held-out queries."""


def tiers(dataset: Dataset, options: Options) -> ExperimentResult:
    """Per K a table and a chart."""
    data = dataset.as_indexed().first(options.count)
    calibrating, asked = halves(data)
    ks = [k for k in KS if k < len(data.searchable)]
    most_excluded = max(map(len, data.exclusions.values()), default=0)
    asked.index.calibrate(calibrating.queries.values(), ks[-1] + most_excluded, progress=options.progress)
    policies = _policies(len(calibrating.queries))
    timed = asked.first(QUICK_TIMED if options.quick else TIMED)
    times = measure(timed, [Timed(policy, k) for k in ks for policy in policies], options)
    truth = answers_of(asked.search(ks[-1], Certified(), threads=options.cores))
    exact = mean([1.0] * len(truth))
    tables, charts, remarks = [], [], []
    for k in ks:
        found: dict[Policy, Mean] = {Exhaustive(): exact, Certified(): exact}
        for policy in policies[len(found) :]:
            answers = answers_of(asked.search(k, policy, threads=options.cores))
            found[policy] = mean(overlaps(answers, truth, k))
        own = {policy: times[Timed(policy, k)] for policy in policies}
        tables.append(_table(k, own, found, asked.index.tokens))
        charts.append(_chart(k, own, found, asked))
        careful = policies[-1]
        ratio = speed(own[careful].seconds, own[Certified()].seconds)
        overlap = f"an overlap of {found[careful].value:.3f} {interval(found[careful], '.3f')}"
        remarks.append(f"K = {k}: {faster(policy_name(careful), 'Certified', ratio)}, with {overlap}.")
    return ExperimentResult(
        "tiers",
        data.name,
        f"Calibrated on {len(calibrating.queries)} queries chosen at random; overlap with the exact answer over the "
        f"{len(asked.queries)} others, median time of a call on one thread over {len(timed.queries)} of them; "
        f"{asked.extent(documents=True, tokens=True)}, {asked.index.tokens:,} tokens.",
        tables,
        charts,
        remarks,
    )


def halves(data: Embedded) -> tuple[Embedded, Embedded]:
    """The queries in two halves, at random but always the same ones, over one copy of the documents in memory."""
    copy = data.with_documents(data.ids, store=data.index.store)
    names = random.Random(0).sample(list(data.queries), len(data.queries))
    middle = len(names) // 2
    first, second = ({query: data.queries[query] for query in part} for part in (names[:middle], names[middle:]))
    return replace(copy, queries=first), replace(copy, queries=second)


def _policies(queries: int) -> list[Policy]:
    """The policies that this many calibration queries allow, the most careful last."""
    allowed = [target for target in TARGETS if queries >= queries_needed(Calibrated(target).target)]
    bandits = (Bandit(alpha) for alpha in ALPHAS)
    return [Exhaustive(), Certified(), *bandits, *(Calibrated(target) for target in allowed)]


def _table(k: int, times: dict[Policy, Times], found: dict[Policy, Mean], tokens: int) -> Table:
    exact = times[Certified()].milliseconds
    rows: list[list[Cell]] = []
    for policy, own in times.items():
        overlap, taken = found[policy], own.milliseconds
        survivors = own.survivors if isinstance(policy, Calibrated) else None
        row: list[Cell] = [policy_name(policy), overlap.value, overlap.low, overlap.high, survivors, own.rescored]
        rows.append([*row, taken, 1e6 * taken / tokens, exact / taken])
    columns = [Column("policy"), Column(f"Ov@{k}", ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    columns += [Column("survivors of tier 0", ",.0f"), Column("rescored", ",.1f"), Column("ms", ".3f")]
    columns += [Column("ns a token", ".2f"), Column("x Certified", ".2f")]
    return Table(f"Overlap and time, K = {k}", columns, rows)


def _chart(k: int, times: dict[Policy, Times], found: dict[Policy, Mean], data: Embedded) -> Chart:
    series = []
    for kind in (Exhaustive, Certified, Bandit, Calibrated):
        some = [policy for policy in times if isinstance(policy, kind)]
        x = [1e6 * times[policy].milliseconds / data.index.tokens for policy in some]
        means = [found[policy] for policy in some]
        notes = [policy_name(policy).partition(" ")[2] for policy in some]
        values = [interval.value for interval in means]
        low, high = [interval.low for interval in means], [interval.high for interval in means]
        series.append(Series(kind.__name__, x, values, low, high, notes))
    title = f"{data.name}: Overlap@{k} against time"
    return Chart(f"k{k}", title, "ns a token", f"Overlap@{k}", series, x_scale="log")

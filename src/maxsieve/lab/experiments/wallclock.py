"""Milliseconds of exhaustive scoring, Bandit and Certified, one query at a time, on one and more threads."""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np

from maxsieve import Bandit, Certified, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Answers, Embedded, policy_name
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.sentences import faster, speed
from maxsieve.lab.paper import MAXSIM_CPU, WALLCLOCK
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.times import Timed, Times, measure, timed_queries
from maxsieve.policies import Policy

KS = (5, 100)
ALPHAS = (0.1, 0.2, 0.3, 1.0)
POLICIES: list[Policy] = [Exhaustive(), Certified(), *(Bandit(alpha) for alpha in ALPHAS)]


def wallclock(dataset: Dataset, options: Options) -> ExperimentResult:
    """Per K a table and the headline bars."""
    data = timed_queries(dataset.embedded(), options)
    threads = sorted({1, options.cores})
    ways = [Timed(policy, k, count) for k in KS for policy in POLICIES for count in threads]
    times = measure(data, ways, options)
    truth = data.truth(KS[-1], threads=options.cores)
    peer = _maxsim_cpu(data)
    tables = [_table(times, truth, k, threads) for k in KS]
    if peer is not None:
        tables.append(_beside(peer, times))
    return ExperimentResult(
        "wallclock",
        data.name,
        f"Median milliseconds of a call over {len(data.queries)} queries of {data.query_tokens:.1f} tokens on average, "
        f"{data.size}, {data.index.tokens:,} tokens, {data.encoder}; the fastest of the turns counts "
        "for each query. Threads work inside one query (the paper's share out queries).",
        tables,
        [_chart(times, truth, k, threads, data.name) for k in KS],
        _remarks(times, peer),
    )


def _table(times: dict[Timed, Times], truth: Answers, k: int, threads: list[int]) -> Table:
    full = times[Timed(Exhaustive(), k, 1)]
    rows: list[list[Cell]] = []
    for policy in POLICIES:
        alone = times[Timed(policy, k, 1)]
        speed = full.milliseconds / alone.milliseconds
        rule = 1 / alone.coverage if isinstance(policy, Bandit) and alone.coverage else None
        milliseconds = [times[Timed(policy, k, count)].milliseconds for count in threads]
        paper = ", ".join(WALLCLOCK[k]) if policy == Bandit(0.2) else None
        overlap = alone.overlap(truth, k)
        name = policy_name(policy)
        rows.append([name, overlap, alone.coverage, *milliseconds, speed, rule, rule and speed / rule, paper])
    columns = [Column("policy"), Column(f"Ov@{k}", ".3f"), Column("coverage", ".1%")]
    columns += [Column(f"ms, {count} thread{'s' * (count > 1)}", ".2f") for count in threads]
    columns += [Column("x exhaustive", ".2f"), Column("100/coverage", ".2f"), Column("of the rule", ".0%")]
    return Table(f"Wall clock, K = {k}", [*columns, Column("paper: Ov, coverage, speed")], rows, "tab:wallclock_cpu")


def _chart(times: dict[Timed, Times], truth: Answers, k: int, threads: list[int], corpus: str) -> Chart:
    names = [policy_name(policy) for policy in POLICIES[1:]]
    series = []
    for count in threads:
        full = times[Timed(Exhaustive(), k, count)].milliseconds
        own = [times[Timed(policy, k, count)].milliseconds for policy in POLICIES[1:]]
        notes = [f"{milliseconds:.1f} ms" for milliseconds in own]
        name = f"{count} thread{'s' * (count > 1)}"
        series.append(Series(name, names, [full / milliseconds for milliseconds in own], notes=notes, kind="bars"))
    overlaps = [times[Timed(policy, k, 1)].overlap(truth, k) for policy in POLICIES[1:]]
    series.append(Series(f"Overlap@{k} (right)", names, overlaps, kind="marks"))
    title = f"{corpus}: speed over exhaustive scoring, K = {k}"
    label = "fig:headline_speedup" if k == KS[0] else "fig:headline_K100"
    return Chart(f"k{k}", title, "", "times as fast", series, right_label=f"Overlap@{k}", label=label)


def _maxsim_cpu(data: Embedded) -> float | None:
    """The median milliseconds of the package maxsim-cpu on the same vectors, if it is installed."""
    try:
        maxsim_cpu = import_module("maxsim_cpu")
    except ImportError:
        return None
    documents = list(data.documents())
    seconds = []
    for rows in data.queries.values():
        start = time.perf_counter()
        scores = maxsim_cpu.maxsim_scores_variable(rows, documents)
        np.argpartition(-np.asarray(scores), min(KS[0], len(documents) - 1))
        seconds.append(time.perf_counter() - start)
    return 1e3 * float(np.median(seconds))


def _beside(peer: float, times: dict[Timed, Times]) -> Table:
    rows: list[list[Cell]] = []
    for policy in (Exhaustive(), Certified(), Bandit(0.2)):
        own = times[Timed(policy, KS[0], 1)].milliseconds
        rows.append([policy_name(policy), own, peer, peer / own])
    columns = [Column("policy"), Column("ms", ".2f"), Column("maxsim-cpu, ms", ".2f"), Column("x maxsim-cpu", ".1f")]
    return Table("Beside maxsim-cpu, K = 5", columns, rows, "tab:mcpu_x86", f"The paper's Bandit: {MAXSIM_CPU}.")


def _remarks(times: dict[Timed, Times], peer: float | None) -> list[str]:
    bandits = [times[Timed(Bandit(alpha), k, 1)] for k in KS for alpha in ALPHAS]
    full = times[Timed(Exhaustive(), KS[0], 1)].milliseconds
    shares = [full / times.milliseconds * times.coverage for times in bandits]
    exact = (times[Timed(policy, KS[0], 1)].seconds for policy in (Certified(), Exhaustive()))
    certified = faster("Certified, whose answer is exact,", "exhaustive scoring", speed(*exact))
    remarks = [
        f"The rule that speed is 100/coverage: Bandit reaches {min(shares):.0%} to {max(shares):.0%} of it.",
        f"At K = {KS[0]} {certified}.",
    ]
    if peer is None:
        remarks.append("maxsim-cpu (tab:mcpu_x86) is not installed here; the benchmark beside other libraries has it.")
    return remarks

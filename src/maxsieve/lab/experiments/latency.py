"""The time of a call on one thread: its growth with K, and its stages."""

from __future__ import annotations

from maxsieve import Bandit, Certified, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.sentences import faster, speed
from maxsieve.lab.paper import K_SENSITIVITY, OVERHEAD
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.times import Timed, measure, timed_queries
from maxsieve.policies import Policy

KS = (5, 100, 500, 1000)
POLICIES: dict[str, Policy] = {"Exhaustive": Exhaustive(), "Certified": Certified(), "Bandit 0.2": Bandit(0.2)}
SIEVES = ("Bandit 0.2", "Certified")


def k_sensitivity(dataset: Dataset, options: Options) -> ExperimentResult:
    """Time, coverage and overlap by K: one table, one chart."""
    data = timed_queries(dataset.embedded(), options)
    ks = [k for k in KS if k < len(data.index)] or [len(data.index)]
    times = measure(data, [Timed(policy, k) for k in ks for policy in POLICIES.values()], options)
    truth = data.truth(ks[-1], threads=options.cores)
    rows: list[list[Cell]] = []
    for k in ks:
        full, certified, bandit = (times[Timed(policy, k)] for policy in POLICIES.values())
        ratio = full.milliseconds / bandit.milliseconds
        figures = [full.milliseconds, certified.milliseconds, bandit.milliseconds]
        own = [bandit.coverage, bandit.overlap(truth, k), certified.rescored]
        rows.append([k, *figures, ratio, K_SENSITIVITY.get(k), *own])
    columns = [Column("K"), *(Column(f"{name}, ms", ".2f") for name in POLICIES)]
    columns += [Column("Bandit x exhaustive", ".2f"), Column("paper: same, ArguAna")]
    columns += [Column("Bandit coverage", ".1%"), Column("Bandit Ov@K", ".3f"), Column("Certified rescored", ".1f")]
    lines = [
        Series(name, [float(k) for k in ks], [times[Timed(policy, k)].milliseconds for k in ks])
        for name, policy in POLICIES.items()
    ]
    label = "tab:k_sensitivity"
    title = f"{data.name}: milliseconds against K"
    chart = Chart("k", title, "K", "ms", lines, x_scale="log", y_scale="log", label=label)
    first, last = (times[Timed(POLICIES["Bandit 0.2"], k)].seconds for k in (ks[0], ks[-1]))
    remark = f"{faster(f'Bandit at K = {ks[0]}', f'Bandit at K = {ks[-1]}', speed(first, last))}."
    summary = f"Median ms of a call on one thread, {data.extent(documents=True)}."
    return ExperimentResult("k-sensitivity", data.name, summary, [Table("K", columns, rows, label)], [chart], [remark])


def overhead(dataset: Dataset, options: Options) -> ExperimentResult:
    """The kernel, the elimination and the rescore: one table."""
    data = timed_queries(dataset.embedded(), options)
    ways = [(name, Timed(POLICIES[name], k)) for name in SIEVES for k in KS[:2]]
    times = measure(data, [way for _, way in ways], options)
    rows: list[list[Cell]] = []
    for name, way in ways:
        found = times[way]
        stages = [found.stage(stage) for stage in ("scan", "sieve", "rescore")]
        whole = found.milliseconds
        paper = " / ".join(OVERHEAD) if way == Timed(Bandit(0.2), KS[0]) else None
        rows.append([name, way.k, found.coverage, *stages, whole, stages[0] / whole, 1 - stages[0] / whole, paper])
    columns = [Column("policy"), Column("K"), Column("coverage", ".1%"), Column("kernel, ms", ".3f")]
    columns += [Column("elimination, ms", ".3f"), Column("rescore, ms", ".3f"), Column("whole call, ms", ".3f")]
    columns += [Column("kernel", ".1%"), Column("the rest", ".1%"), Column("paper: kernel / rest")]
    summary = (
        f"Medians over {len(data.queries)} queries on one thread, {data.encoder}. The whole call includes what Python "
        "does; the rest is all that isn't the kernel."
    )
    return ExperimentResult(
        "overhead", data.name, summary, [Table("Stages of a query", columns, rows, "tab:overhead_breakdown")]
    )

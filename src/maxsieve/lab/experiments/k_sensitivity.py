"""How time, coverage and overlap grow with K."""

from __future__ import annotations

from maxsieve import Bandit, Certified, Exhaustive
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.paper import K_SENSITIVITY
from maxsieve.lab.results import Cell, Chart, Column, Result, Series, Table
from maxsieve.lab.source import Source
from maxsieve.lab.timing import Timed, measure, timed_queries
from maxsieve.policies import Policy

KS = (5, 100, 500, 1000)
POLICIES: dict[str, Policy] = {"Exhaustive": Exhaustive(), "Certified": Certified(), "Bandit 0.2": Bandit(0.2)}


def run(source: Source, options: Options) -> Result:
    """One table, one chart."""
    data = timed_queries(source.embedded(), options)
    ks = [k for k in KS if k < len(data.index)] or [len(data.index)]
    times = measure(data, [Timed(policy, k) for k in ks for policy in POLICIES.values()], options)
    truth = data.truth(ks[-1], threads=options.cores)
    rows: list[list[Cell]] = []
    for k in ks:
        full, certified, bandit = (times[Timed(policy, k)] for policy in POLICIES.values())
        speed = full.milliseconds / bandit.milliseconds
        figures = [full.milliseconds, certified.milliseconds, bandit.milliseconds]
        own = [bandit.coverage, bandit.overlap(truth, k), certified.rescored]
        rows.append([k, *figures, speed, K_SENSITIVITY.get(k), *own])
    columns = [Column("K"), *(Column(f"{name}, ms", ".2f") for name in POLICIES)]
    columns += [Column("Bandit x exhaustive", ".2f"), Column("paper: same, ArguAna")]
    columns += [Column("Bandit coverage", ".1%"), Column("Bandit Ov@K", ".3f"), Column("Certified rescored", ".1f")]
    lines = [
        Series(name, [float(k) for k in ks], [times[Timed(policy, k)].milliseconds for k in ks])
        for name, policy in POLICIES.items()
    ]
    title = f"{data.name}: milliseconds against K"
    chart = Chart("k", title, "K", "ms", lines, x_scale="log", y_scale="log", label="tab:k_sensitivity")
    first, last = (times[Timed(POLICIES["Bandit 0.2"], k)].milliseconds for k in (ks[0], ks[-1]))
    remark = f"From K = {ks[0]} to K = {ks[-1]} Bandit takes {last / first:.1f} times as long."
    summary = (
        f"Median ms of a call on one thread, {len(data.queries)} queries, {len(data.index):,} documents, "
        f"{data.encoder}."
    )
    return Result(
        "k-sensitivity", data.name, summary, [Table("K", columns, rows, "tab:k_sensitivity")], [chart], [remark]
    )


EXPERIMENT = Experiment("k-sensitivity", "Time, coverage and overlap for K from 5 to 1,000.", run)

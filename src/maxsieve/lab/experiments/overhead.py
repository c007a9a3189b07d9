"""Where a query's time goes: the kernel, the elimination, the rescore."""

from __future__ import annotations

from maxsieve import Bandit, Certified
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.paper import OVERHEAD
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.lab.timing import Timed, measure, timed_queries
from maxsieve.policies import Policy

KS = (5, 100)
POLICIES: dict[str, Policy] = {"Bandit 0.2": Bandit(0.2), "Certified": Certified()}


def run(source: Source, options: Options) -> Result:
    """One table."""
    data = timed_queries(source.embedded(), options)
    times = measure(data, [Timed(policy, k) for policy in POLICIES.values() for k in KS], options)
    rows: list[list[Cell]] = []
    for name, policy in POLICIES.items():
        for k in KS:
            found = times[Timed(policy, k)]
            stages = [found.stage(stage) for stage in ("scan", "sieve", "rescore")]
            whole = found.milliseconds
            paper = " / ".join(OVERHEAD) if policy == Bandit(0.2) and k == KS[0] else None
            rows.append([name, k, found.coverage, *stages, whole, stages[0] / whole, 1 - stages[0] / whole, paper])
    columns = [
        Column("policy"),
        Column("K"),
        Column("coverage", ".1%"),
        Column("kernel, ms", ".3f"),
        Column("elimination, ms", ".3f"),
        Column("rescore, ms", ".3f"),
        Column("whole call, ms", ".3f"),
        Column("kernel", ".1%"),
        Column("the rest", ".1%"),
        Column("paper: kernel / rest"),
    ]
    summary = (
        f"Medians over {len(data.queries)} queries on one thread, {data.encoder}. The whole call includes what Python "
        "does; the rest is all that isn't the kernel."
    )
    return Result("overhead", data.name, summary, [Table("Stages of a query", columns, rows, "tab:overhead_breakdown")])


EXPERIMENT = Experiment("overhead", "Shares of kernel, elimination and rescore in a query's time.", run)

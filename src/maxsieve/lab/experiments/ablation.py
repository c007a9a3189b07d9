"""What the experiments that turn one knob of Bandit share: the table of its settings."""

from __future__ import annotations

from collections.abc import Sequence

from maxsieve import Bandit
from maxsieve.lab.experiment import Options
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.lab.timing import Timed, measure, timed_queries

K = 5


def ablate(
    name: str, knob: str, settings: dict[int, Bandit], paper: dict[int, Sequence[str]], source: Source, options: Options
) -> Result:
    """Coverage, overlap and time for each setting."""
    data = timed_queries(source.embedded(), options)
    times = measure(data, [Timed(policy, K) for policy in settings.values()], options)
    truth = data.truth(K, threads=options.cores)
    rows: list[list[Cell]] = []
    for setting, policy in settings.items():
        found = times[Timed(policy, K)]
        rounds = sum(len(hits.report.rounds) for hits in found.hits) / len(found.hits)
        figures = [found.coverage, found.overlap(truth, K), found.rescored, rounds, found.milliseconds]
        rows.append([setting, *figures, ", ".join(paper.get(setting, ())) or None])
    columns = [
        Column(knob),
        Column("coverage", ".1%"),
        Column(f"Ov@{K}", ".3f"),
        Column("rescored", ".1f"),
        Column("rounds", ".1f"),
        Column("ms", ".2f"),
        Column("paper: coverage, Ov@5"),
    ]
    summary = (
        f"Bandit at alpha = 0.2, K = {K}, delta = 0.01, one thread, {len(data.queries)} queries, {data.encoder}; "
        "medians of milliseconds, means of the rest."
    )
    label = "tab:ablations_M" if paper else ""
    return Result(name, data.name, summary, [Table(f"Bandit by {knob}", columns, rows, label)])

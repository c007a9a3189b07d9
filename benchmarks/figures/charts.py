"""What the charts of the README and of docs/ show."""

from __future__ import annotations

import re

from benchmarks.figures.names import (
    ENGINES,
    MACHINES,
    OURS,
    TITLES,
    alone,
    label,
    number,
    runs,
    side_by_side,
    smallest_k,
)
from benchmarks.figures.overlap_chart import Panel
from benchmarks.figures.published import read
from maxsieve.lab.results import Chart, Series

CALIBRATED = "zen3-avx2-calibrated"
"""Fewer libraries, but with `Calibrated`, which the older run of all libraries does not have."""
LEFT_OUT = ("bandit-1",)
"""Methods that are never better than `Certified`. They are in the tables."""
SHAPES = {"time-overlap": "scifact", "time-overlap-hotpotqa": "hotpotqa"}
"""Real texts."""
COLUMNS = 2
CROWDED = (
    "calibrated-0.9",
    "calibrated-0.95",
    "bandit-0.2",
    "colbandit-0.2",
    "lancedb-refine-10",
    "tachiom-200",
    "tachiom-1000",
)
"""Methods of the run of engines that are left out of the chart, because others are next to them."""


def _engines() -> list[Panel]:
    """Maxsieve and the engines that others use."""
    run = read("zen5-engines")
    return [
        Panel(
            f"{title}, K = {smallest_k(run)}, one core",
            [
                (re.split("[:,]", label(method))[0], row)
                for method, row in alone(run, shape).items()
                if method not in CROWDED
            ],
        )
        for shape, title in ENGINES.items()
    ]


def time_and_overlap() -> dict[str, list[Panel]]:
    """By chart: time against overlap, a panel for each of the newest runs."""
    there = side_by_side() | {name: run for name, run in runs().items() if name == CALIBRATED}
    cpus = MACHINES | {CALIBRATED: MACHINES["zen3-avx2"]}
    made = {"engines": _engines()}
    for chart, shape in SHAPES.items():
        chosen = [(name, run) for name, run in there.items() if shape in run.shapes][:COLUMNS]
        made[chart] = [
            Panel(
                f"{TITLES[shape]}, K = {smallest_k(run)}, one core, {cpus[name]}",
                [(label(method), row) for method, row in alone(run, shape).items() if method not in LEFT_OUT],
            )
            for name, run in chosen
        ]
    return made


def bars() -> list[Chart]:
    """Charts without overlap: kernels on one machine, threads on a million documents."""
    run, large = read("amx"), read("zen5-million")
    kernels = ("amx", "avx512vnni", "avx2")
    by_kernel = [
        Series(
            OURS[method],
            list(kernels),
            [run.one(shape="scidocs", method=method, isa=isa, threads=1).ns for isa in kernels],
            kind="bars",
        )
        for method in ("certified", "bandit-0.2")
    ]
    methods = ("calibrated-0.99", "certified")
    by_threads = [
        Series(
            f"{threads} thread{'s' * (threads > 1)}",
            [OURS[method] for method in methods],
            [large.one(method=method, threads=threads).time for method in methods],
            notes=[f"{number(large.one(method=method, threads=threads).time)} ms" for method in methods],
            kind="bars",
        )
        for threads in (1, 2)
    ]
    return [
        Chart(
            "kernels",
            "25,657 documents, K = 5, one core of a Xeon with AMX",
            "kernel",
            "ns a document token",
            by_kernel,
        ),
        Chart("million", "A million documents from disk, K = 10", "", "milliseconds", by_threads),
    ]

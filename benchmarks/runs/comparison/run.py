"""One run of the benchmark: single calls, then shape after shape."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import maxsieve as ms
from benchmarks.runs import tier0
from benchmarks.runs.comparison import calls, million
from benchmarks.runs.comparison.measure import CLOCKS
from benchmarks.runs.comparison.million_run import MillionRun
from benchmarks.runs.comparison.plan import Plan
from benchmarks.runs.comparison.results import Results
from benchmarks.runs.comparison.runner import Runner, say_done
from benchmarks.runs.comparison.shape_run import ShapeRun
from benchmarks.vectors import shapes
from maxsieve import _core


def run(plan: Plan, results: Results) -> Iterator[None]:
    """Measures everything, into `results`. They can be used after each shape, and after an interruption.

    Progress is printed to standard error, a line for each method and shape.
    """
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        _calls(plan, results, progress)
        for name in plan.shape:
            if (one := _load(plan, name, results, progress)) is not None:
                one.run()
                yield
            del one  # frees its vectors and index before the next are made


def _load(plan: Plan, name: str, results: Results, progress: Progress) -> Runner | None:
    track = partial(progress.track, description=f"{name}: making vectors")
    try:
        if name in shapes.ON_DISK:
            return MillionRun(plan, million.load(name, plan.documents, plan.queries, track), results, progress)
        return ShapeRun(plan, shapes.load(name, max(plan.queries, *plan.batch), track), results, progress)
    except shapes.UnavailableError as error:
        results.absent.append(f"{name}: {error}")
        return None


def _calls(plan: Plan, results: Results, progress: Progress) -> None:
    """The figures of single calls, under the best kernel."""
    started = perf_counter()
    bar = progress.add_task("single calls", total=5)
    runs = 20 if plan.quick else 100
    _core.use_isa(ms.isas()[0])
    clock = CLOCKS[plan.clock]
    results.figures["rerank overhead"] = calls.rerank_overhead(200 if plan.quick else 2000, runs)
    progress.advance(bar)
    for length in (32, 180):
        results.figures[f"small call {length}"] = calls.small_call(length, 50 * runs, clock)
        progress.advance(bar)
    shape = shapes.load("tiny" if plan.quick else "rerank", 1, lambda documents, count: documents)
    peer = next((entry.make for entry in plan.entries if entry.module == "colbandit"), None)
    results.figures["build maxsieve"], theirs = calls.build_speeds(shape, peer, 3, clock)
    if theirs is not None:
        results.figures["build colbandit"] = theirs
    progress.advance(bar)
    if not plan.quick:
        results.figures |= tier0.measure(runs=10)
    progress.remove_task(bar)
    say_done(progress, "single calls", started)

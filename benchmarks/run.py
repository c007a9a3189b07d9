"""One run of the benchmark: shape after shape, all methods taking turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import calls
import maxsieve as ms
import ours
import readlimit
import shapes
import truth
from maxsieve import _core
from measure import CLOCKS, Found, Setting, Task, Timing, interleave
from peers import Entry
from peers.protocol import F64, Answer, Method
from results import Holding, Results, rows
from sessions import GB, Group, sessions
from shapes import Shape


@dataclass(frozen=True)
class Plan:
    """What to run: the command line's options, and the peers that work."""

    shape: list[str]
    method: list[str]
    entries: list[Entry]
    k: list[int]
    isa: list[str]
    threads: list[int]
    batch: list[int]
    queries: int
    repeat: int
    seconds: float
    clock: str
    memory: float
    quick: bool
    out: Path


def run(plan: Plan, results: Results) -> Iterator[None]:
    """Measure everything, into `results`; they can be used after each shape, and after an interruption.

    What is done is said on standard error, a line for each method and shape.
    """
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        _calls(plan, results, progress)
        for name in plan.shape:
            if (one := _load(plan, name, results, progress)) is not None:
                one.run()
                yield
            del one  # its vectors and index, before the next are made


def _load(plan: Plan, name: str, results: Results, progress: Progress) -> _ShapeRun | None:
    track = partial(progress.track, description=f"{name}: making vectors")
    try:
        shape = shapes.load(name, max(plan.queries, *plan.batch), track)
    except shapes.UnavailableError as error:
        results.absent.append(f"{name}: {error}")
        return None
    return _ShapeRun(plan, shape, results, progress)


def _calls(plan: Plan, results: Results, progress: Progress) -> None:
    """The figures of single calls, under the best kernel."""
    started = perf_counter()
    bar = progress.add_task("single calls", total=4)
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
    progress.remove_task(bar)
    _say_done(progress, "single calls", started)


def _say_done(progress: Progress, what: str, started: float) -> None:
    progress.console.print(f"{what}: done in {perf_counter() - started:.0f} s", highlight=False)


class _ShapeRun:
    """Everything on one shape."""

    def __init__(self, plan: Plan, shape: Shape, results: Results, progress: Progress) -> None:
        self._plan, self._shape, self._results, self._progress = plan, shape, results, progress
        self._ks = sorted({k for k in plan.k if k < len(shape.lengths)})
        self._queries = min(plan.queries, len(shape.queries))
        self._clock = CLOCKS[plan.clock]
        self._timings: dict[Setting, Timing] = {}

    def run(self) -> None:
        """Measure, and file the rows: after an interruption, of what was measured until then."""
        started = perf_counter()
        self._bar = self._progress.add_task("", total=None)
        self._say("the true scores")
        true = truth.scores(self._shape, self._queries)
        try:
            self._measure()
        finally:
            self._file(true)
        self._progress.remove_task(self._bar)
        _say_done(self._progress, self._shape.name, started)

    def _measure(self) -> None:
        plan, shape = self._plan, self._shape
        mine = list(self._ours())
        groups = sessions(plan.entries, shape, plan.memory * GB, self._results.absent)
        for session, group in enumerate(groups):
            theirs = self._prepare(group)
            # One query at a time on one thread is what peers are compared with: the rest is not run again.
            again = mine if session == 0 else [t for t in mine if t.setting.batch == t.setting.threads == 1]
            self._time(session, [*again, *theirs])
            self._say_times([*mine * (session == 0), *theirs])
            group.clear()
            theirs.clear()

    def _file(self, true: F64) -> None:
        shape = self._shape
        done = [timing for timing in self._timings.values() if timing.seconds]
        if filed := list(rows(shape.name, shape.tokens, done, self._ks, true, ours.POLICIES)):
            self._results.shapes[shape.name] = str(shape)
            self._results.rows += filed

    def _say_times(self, tasks: Sequence[Task]) -> None:
        """A line for each method, of its first setting: the smallest K, one thread, one query at a time."""
        first: dict[str, Timing] = {}
        for task in tasks:
            if task.setting.k:  # else it is the read limit
                first.setdefault(task.setting.method, self._timings[task.setting])
        for method, timing in first.items():
            line = f"{self._shape.name}: {method}, {1e3 * timing.median:.3g} ms"
            self._progress.console.print(f"{line} (K = {timing.setting.k})", highlight=False)

    def _ours(self) -> Sequence[Task]:
        plan, shape = self._plan, self._shape
        self._say("building")
        started = self._clock()
        index = ours.build(shape, threads=1)
        seconds = self._clock() - started
        self._hold("maxsieve", index.nbytes, seconds)
        self._hold("maxsieve, scanned", readlimit.resident_bytes(index), seconds)
        policies = [method for method in plan.method if method in ours.POLICIES]
        return list(
            ours.tasks(index, shape, policies, ks=self._ks, isas=plan.isa, threads=plan.threads, batches=plan.batch)
        )

    def _prepare(self, group: Group) -> list[Task]:
        tasks: list[Task] = []
        for entry, peer in group:
            self._say(f"preparing {entry.methods[0]}")
            started = self._clock()
            peer.prepare(self._shape)
            seconds = self._clock() - started if peer.estimate(self._shape) else None
            self._hold(entry.methods[0], peer.nbytes, seconds, peer.note)
            for method in peer.methods:
                if method.name in self._plan.method:
                    tasks += [self._task(method, k) for k in (self._ks if method.selects else self._ks[-1:])]
        return tasks

    def _task(self, method: Method, k: int) -> Task:
        def search(number: int) -> Answer:
            return method.search(self._shape.queries[number], k)

        return Task(Setting(method.name, k, selects=method.selects), search, lambda answer: [Found(*answer)])

    def _time(self, session: int, tasks: Sequence[Task]) -> None:
        plan = self._plan
        self._say("timing", total=len(tasks) + self._queries * plan.repeat)
        interleave(
            tasks,
            self._timings,
            session=session,
            queries=self._queries,
            repeat=plan.repeat,
            seconds=plan.seconds,
            clock=self._clock,
            advance=lambda: self._progress.advance(self._bar),
        )

    def _hold(self, holder: str, nbytes: int, seconds: float | None, note: str = "") -> None:
        tokens = self._shape.tokens
        speed = tokens / seconds if seconds is not None else None
        self._results.holdings.append(Holding(self._shape.name, holder, nbytes / tokens, speed, note))

    def _say(self, what: str, total: int | None = None) -> None:
        self._progress.update(self._bar, description=f"{self._shape.name}: {what}", total=total, completed=0)

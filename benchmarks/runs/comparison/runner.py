"""What all measurements of a shape share: timing, collecting rows, reporting progress."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import perf_counter

from rich.progress import Progress

from benchmarks.peers.protocol import F64
from benchmarks.runs.comparison import ours
from benchmarks.runs.comparison.measure import CLOCKS, Setting, Task, Timing, interleave
from benchmarks.runs.comparison.million import Million
from benchmarks.runs.comparison.plan import Plan
from benchmarks.runs.comparison.results import Holding, Results, rows
from benchmarks.vectors.shapes import Shape


def say_done(progress: Progress, what: str, started: float) -> None:
    """A line that stays on the terminal."""
    progress.console.print(f"{what}: done in {perf_counter() - started:.0f} s", highlight=False)


class Runner(ABC):
    """Everything on one shape, at some depths K."""

    def __init__(
        self, plan: Plan, shape: Shape | Million, ks: Sequence[int], results: Results, progress: Progress
    ) -> None:
        self._plan, self._results, self._progress = plan, results, progress
        self._name, self._tokens, self._description = shape.name, shape.tokens, str(shape)
        self._ks = list(ks)
        self._queries = min(plan.queries, len(shape.queries))
        self._clock = CLOCKS[plan.clock]
        self._timings: dict[Setting, Timing] = {}

    def run(self) -> None:
        """Measures, and stores the rows: after an interruption, those that were measured until then."""
        started = perf_counter()
        self._bar = self._progress.add_task("", total=None)
        self._say("the true scores")
        true = self._truth()
        try:
            self._measure()
        finally:
            self._file(true)
        self._progress.remove_task(self._bar)
        say_done(self._progress, self._name, started)

    @abstractmethod
    def _truth(self) -> F64:
        """The true scores of the timed queries with every document."""

    @abstractmethod
    def _measure(self) -> None:
        """Time all methods."""

    def _file(self, true: F64) -> None:
        done = [timing for timing in self._timings.values() if timing.seconds]
        if filed := list(rows(self._name, self._tokens, done, self._ks, true, ours.POLICIES)):
            self._results.shapes[self._name] = self._description
            self._results.rows += filed

    def _say_times(self, tasks: Sequence[Task]) -> None:
        """A line for each method, of its first setting: the smallest K, one thread, one query at a time."""
        first: dict[str, Timing] = {}
        for task in tasks:
            if task.setting.k:  # otherwise it is the read limit
                first.setdefault(task.setting.method, self._timings[task.setting])
        for method, timing in first.items():
            line = f"{self._name}: {method}, {1e3 * timing.median:.3g} ms"
            self._progress.console.print(f"{line} (K = {timing.setting.k})", highlight=False)

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
        speed = self._tokens / seconds if seconds is not None else None
        self._results.holdings.append(Holding(self._name, holder, nbytes / self._tokens, speed, note))

    def _say(self, what: str, total: int | None = None) -> None:
        self._progress.update(self._bar, description=f"{self._name}: {what}", total=total, completed=0)

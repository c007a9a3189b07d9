"""Interleaved timing: methods take turns on the same queries, so that other work on the machine affects all alike."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.peers.protocol import F64, I64

CLOCKS = {"wall": perf_counter, "cpu": process_time}
"""On a busy machine the CPU time of a method with one thread says more than wall-clock time."""
FEWEST = 3
"""Runs of a method that takes longer than its share of time."""


@dataclass(frozen=True)
class Found:
    """The answer to one query; `report` has what only maxsieve tells."""

    positions: I64
    scores: F64
    report: Any = None


@dataclass(frozen=True)
class Setting:
    """A method and how it is run."""

    method: str
    k: int
    isa: str = ""
    threads: int = 1
    batch: int = 1
    selects: bool = True
    """Its time depends on k. Otherwise its answers are valid for all smaller k, too."""


@dataclass(frozen=True)
class Task:
    """The work to be timed."""

    setting: Setting
    run: Callable[[int], Any]
    """The function to time. Its argument is the number of a query."""
    read: Callable[[Any], list[Found]]
    """The answers in its result, for the queries from that number on (a batch: from 0)."""
    ready: Callable[[], None] = lambda: None
    """Called before each run, not timed."""


Round = tuple[int, int]
"""A session, and a round in it."""


@dataclass
class Timing:
    """What running a task gave: seconds by round, and its answers by query."""

    setting: Setting
    seconds: dict[Round, float] = field(default_factory=dict)
    answers: dict[int, Found] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Seconds for a query."""
        return statistics.median(self.seconds.values()) / self.setting.batch

    @property
    def quartiles(self) -> tuple[float, float]:
        """Seconds for a query: a quarter of the runs took less than the first, a quarter more than the second."""
        low, high = np.quantile(list(self.seconds.values()), [0.25, 0.75]) / self.setting.batch
        return float(low), float(high)

    @property
    def p95(self) -> float:
        """Seconds for a query: 5 % of the runs took longer."""
        return float(np.quantile(list(self.seconds.values()), 0.95)) / self.setting.batch

    def times(self, other: Timing) -> float:
        """How many times as long this takes as `other`: the median over common rounds, if they ran in turns."""
        pairs = [self.seconds[at] / other.seconds[at] for at in self.seconds.keys() & other.seconds.keys()]
        if pairs and self.setting.batch == other.setting.batch:
            return statistics.median(pairs)
        return self.median / other.median


def interleave(
    tasks: Sequence[Task],
    timings: dict[Setting, Timing],
    *,
    session: int,
    queries: int,
    repeat: int,
    seconds: float,
    clock: Callable[[], float] = perf_counter,
    advance: Callable[[], None],
) -> None:
    """Runs every task `queries * repeat` times, or as often as fits into `seconds`, and fills `timings`.

    The first run of each warms it up. It only tells how long a run takes. Tasks with fewer runs are spread evenly over
    the rounds. Each query comes at every place of a round in turn.
    """
    rounds = queries * repeat
    shares = []
    for task in tasks:
        timing = timings.setdefault(task.setting, Timing(task.setting))
        shares.append(min(rounds, max(FEWEST, int(seconds / _run(task, timing, 0, clock)))))
        advance()
    for number in range(rounds):
        query = (number + number // queries) % queries
        for task, share in zip(tasks, shares, strict=True):
            if number * share // rounds != (number + 1) * share // rounds:
                timing = timings[task.setting]
                timing.seconds[session, number] = _run(task, timing, query, clock)
        advance()


def _run(task: Task, timing: Timing, query: int, clock: Callable[[], float]) -> float:
    first = 0 if task.setting.batch > 1 else query
    task.ready()
    gc.disable()
    try:
        started = clock()
        result = task.run(first)
        took = clock() - started
    finally:
        gc.enable()
    for number, found in enumerate(task.read(result), first):
        timing.answers.setdefault(number, found)
    return took

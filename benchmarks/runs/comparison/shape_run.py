"""The benchmark of a shape in memory: all methods, ours and those of peers, take turns on its queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.progress import Progress

from benchmarks.peers.protocol import F64, Answer, Method
from benchmarks.runs.comparison import ours, readlimit
from benchmarks.runs.comparison.measure import Found, Setting, Task
from benchmarks.runs.comparison.plan import Plan
from benchmarks.runs.comparison.results import Results
from benchmarks.runs.comparison.runner import Runner
from benchmarks.runs.comparison.sessions import GB, Group, sessions
from benchmarks.vectors import truth
from benchmarks.vectors.shapes import Shape


class ShapeRun(Runner):
    """Depths K that the shape has documents for."""

    def __init__(self, plan: Plan, shape: Shape, results: Results, progress: Progress) -> None:
        super().__init__(plan, shape, sorted({k for k in plan.k if k < len(shape.lengths)}), results, progress)
        self._shape = shape

    def _truth(self) -> F64:
        return truth.scores(self._shape, self._queries)

    def _measure(self) -> None:
        plan, shape = self._plan, self._shape
        mine = list(self._ours())
        groups = sessions(plan.entries, shape, plan.memory * GB, self._results.absent)
        for session, group in enumerate(groups):
            theirs = self._prepare(group)
            # Peers are compared with one query at a time on one thread, so other settings are not run again.
            again = mine if session == 0 else [t for t in mine if t.setting.batch == t.setting.threads == 1]
            self._time(session, [*again, *theirs])
            self._say_times([*mine * (session == 0), *theirs])
            group.clear()
            theirs.clear()

    def _ours(self) -> Sequence[Task]:
        plan, shape = self._plan, self._shape
        self._say("building")
        started = self._clock()
        index = ours.build(shape, threads=1)
        seconds = self._clock() - started
        self._hold("maxsieve", index.nbytes, seconds)
        self._hold("maxsieve, scanned", readlimit.resident_bytes(index), seconds)
        policies = [method for method in plan.method if method in ours.POLICIES and self._can_calibrate(method)]
        if any(ours.needs(method) for method in policies):
            self._say("calibrating")
            made = ours.calibrate(index, shape.practice, self._ks[-1])
            self._hold("maxsieve, lists", ours.list_bytes(index), made.seconds, made.describe(index))
        options: dict[str, Any] = {
            "ks": self._ks,
            "isas": plan.isa,
            "threads": plan.threads,
            "batches": plan.batch,
        }
        return [*ours.tasks(index, shape.queries, policies, **options), ours.read_limit(index)]

    def _can_calibrate(self, method: str) -> bool:
        """Whether there are enough queries. If not, the method is left out, with a message."""
        needed, there = ours.needs(method), len(self._shape.practice)
        if there < needed:
            lack = f"needs {needed} queries to calibrate on beside the timed ones, and there are {there}"
            self._results.absent.append(f"{method} on {self._name}: {lack}")
        return there >= needed

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

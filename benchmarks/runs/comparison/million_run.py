"""The benchmark of the shape `million`, which is searched from disk: some of our methods, one after the other."""

from __future__ import annotations

from rich.progress import Progress

import maxsieve as ms
from benchmarks.peers.protocol import F64
from benchmarks.runs.comparison import million, ours
from benchmarks.runs.comparison.million import Million
from benchmarks.runs.comparison.plan import Plan
from benchmarks.runs.comparison.results import Results
from benchmarks.runs.comparison.runner import Runner
from benchmarks.runs.comparison.sessions import GB
from benchmarks.runs.machine import forget, process_bytes


class MillionRun(Runner):
    """Measures some methods, not in turns, because `Certified` reads every code, and then all of them are resident.

    So `Calibrated` runs first, from files that the system has been asked to drop from its cache. The growth of the
    process since it opened the index is the memory that `Calibrated` needs.
    """

    def __init__(self, plan: Plan, shape: Million, results: Results, progress: Progress) -> None:
        super().__init__(plan, shape, [million.K], results, progress)
        self._shape = shape

    def _truth(self) -> F64:
        return self._shape.scores(self._queries)

    def _measure(self) -> None:
        plan, shape = self._plan, self._shape
        self._leave_out()
        forget(shape.folder)
        before = process_bytes()
        with ms.Index.open(shape.folder) as index:
            self._hold("maxsieve, on disk", shape.disk_bytes, shape.build_seconds)
            made = shape.calibrating
            self._hold("maxsieve, lists", ours.list_bytes(index), made.seconds, made.describe(index))
            for session, method in enumerate(method for method in million.METHODS if method in plan.method):
                tasks = list(
                    ours.tasks(
                        index, shape.queries, [method], ks=self._ks, isas=plan.isa, threads=plan.threads, batches=[1]
                    )
                )
                self._time(session, tasks)
                self._say_times(tasks)
                after = process_bytes()
                if before is not None and after is not None:
                    note = f"what the process grew by, with {method}, mapped from disk"
                    self._hold(f"maxsieve, resident, {method}", after - before, None, note)

    def _leave_out(self) -> None:
        """Reports which of the requested methods don't run here."""
        others = [method for method in self._plan.method if method not in million.METHODS]
        mine = [method for method in others if method in ours.POLICIES]
        peers = [method for method in others if method not in ours.POLICIES]
        size, limit = self._shape.vector_bytes / GB, self._plan.memory
        over = f", over the {limit:g} that a peer may" if size > limit else ""
        for methods, reason in (
            (mine, "too slow to be worth the time"),
            (peers, f"would hold {size:.3g} GB in memory{over}, where this is searched from disk"),
        ):
            if methods:
                self._results.absent.append(f"{', '.join(methods)} on {self._name}: {reason}")

"""The goals for the figures, and whether this run reaches them.

Ratios are within the run, at the first K; those of `Calibrated` are at K = 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.runs import tier0
from benchmarks.runs.comparison import million
from benchmarks.runs.comparison.results import Results, Row

MEASURED = "not measured in this run"


@dataclass(frozen=True)
class Target:
    """One figure, its minimum (or maximum) and the measured value."""

    figure: str
    limit: float
    at_least: bool
    value: float | None
    remark: str = ""
    holds: bool = True
    """Whether the assumptions of the figure are true."""

    @property
    def verdict(self) -> str:
        """Reached, missed, or not measurable here."""
        if self.value is None:
            return "-"
        reached = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "reached" if reached and self.holds else "missed"


class Judge:
    """Looks figures up in the results of a run."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._kernels = results.machine["kernels"].split(", ")
        self._k = min(row.k for row in results.rows)

    def targets(self) -> Iterator[Target]:
        """All of them, in order."""
        for shape in ("scidocs", "quora", "pages"):
            yield self._over_read_limit(shape, 1.3)
        for shape, limit in (("rerank", 6), ("scidocs", 4.2)):
            yield self._against("amx", "certified", "colbandit-0.2", shape, limit, exact=True)
        for peer, limit in (("maxsim-cpu", 18), ("numkong-f32", 4), ("torch", 15)):
            yield self._against("amx", "certified", peer, "scidocs", limit)
        for shape, limit in (("rerank", 2), ("scidocs", 1.6)):
            yield self._against("avx512vnni", "certified", "colbandit-0.2", shape, limit)
        yield self._against("avx512vnni", "bandit-0.2", "colbandit-0.2", "scidocs", 3)
        for shape in self._results.shapes:
            yield self._against("avx2", "bandit-0.2", "colbandit-0.2", shape, 2.5, overlap=True)
        yield self._against("avx512vnni", "exhaustive", "maxsim-cpu", "rerank", 2)
        yield self._figure("rerank by id: call over native part", "rerank overhead", 1.15)
        yield self._figure("call for 10 documents of 32 tokens, T = 8, microseconds", "small call 32", 30)
        yield self._figure("call for 10 documents of 180 tokens, T = 8, microseconds", "small call 180", 30)
        one, two = (self._row("", "certified", "scidocs", threads=threads) for threads in (1, 2))
        yield self._gain("scidocs: certified with 2 threads over 1", 1.7, one, two)
        one, many = (self._row("amx", "certified", "scidocs", batch=batch) for batch in (1, 32))
        yield self._gain("amx, scidocs: certified, a batch of 32 over one at a time", 2.5, one, many)
        yield self._build(10)
        yield self._held("resident bytes per token while searching, d = 128", 140, "maxsieve, scanned")
        for shape in ("scifact", "hotpotqa", "arguana"):
            yield self._depth(shape, 2)
        yield from self._calibrated()

    def _calibrated(self) -> Iterator[Target]:
        """Those of `Calibrated`, at K = 10, and of its parts."""
        yield self._figure(f"{tier0.SCAN_IN_CACHE} (T = 32, C = 16,384)", tier0.SCAN_IN_CACHE, 1.2)
        yield self._figure(f"{tier0.SCAN_FROM_MEMORY} (T = 32, C = 16,384)", tier0.SCAN_FROM_MEMORY, 1.5)
        yield self._figure(f"{tier0.ASSIGN} (C = 16,384)", tier0.ASSIGN, 150_000, at_least=True)
        for shape in ("scifact", "hotpotqa"):
            found = self._against("avx2", "calibrated-0.99", "colbandit-0.2", shape, 20, k=million.K)
            yield self._finding(found, 0.985, self._row("avx2", "calibrated-0.99", shape, k=million.K))
            for isa, limit in (("avx2", 10), ("amx", 4)):
                rows = [self._row(isa, method, shape, k=million.K) for method in ("certified", "calibrated-0.99")]
                yield self._gain(f"{isa}, {shape}: calibrated-0.99 against certified", limit, *rows)
        row = self._row("", "calibrated-0.99", million.NAME, k=million.K)
        found = self._from("million: calibrated-0.99, ms", 6, False, row, lambda r: r.milliseconds)
        yield self._finding(found, 0.985, row)
        yield self._held("million: resident bytes a token", 8, "maxsieve, resident, calibrated-0.99")
        for shape in self._results.shapes:
            if any(self._results.find(shape=shape, method="fast-plaid")):
                for method, limit in (("certified", 20), ("calibrated-0.99", 50)):
                    yield self._against("", method, "fast-plaid", shape, limit, overlap=True, k=million.K)

    def _row(self, isa: str, method: str, shape: str, **settings: object) -> Row | str:
        """The row, or why there is none."""
        if isa and isa not in self._kernels:
            return f"needs a CPU with {isa}"
        wanted = {"k": self._k, "threads": 1, "batch": 1, "isa": isa or self._kernels[0]} | settings
        return next(self._results.find(shape=shape, method=method, **wanted), MEASURED)

    def _from(
        self, figure: str, limit: float, at_least: bool, row: Row | str, value: Callable[[Row], float | None]
    ) -> Target:
        if isinstance(row, str):
            return Target(figure, limit, at_least, None, row)
        found = value(row)
        return Target(figure, limit, at_least, found, "" if found is not None else MEASURED)

    def _over_read_limit(self, shape: str, limit: float) -> Target:
        row = self._row("amx", "certified", shape)
        return self._from(f"amx, {shape}: certified over read limit", limit, False, row, lambda r: r.times_read_limit)

    def _against(
        self,
        isa: str,
        method: str,
        peer: str,
        shape: str,
        limit: float,
        *,
        exact: bool = False,
        overlap: bool = False,
        **settings: object,
    ) -> Target:
        row = self._row(isa, method, shape, **settings)
        figure = f"{isa}, {shape}: {method} against {peer}" if isa else f"{shape}: {method} against {peer}"
        target = self._from(figure, limit, True, row, lambda r: r.speedups.get(peer))
        if isinstance(row, str) or target.value is None:
            return target
        if exact:
            return replace(target, remark=f"exact answers: {row.exact_sets:.0%}", holds=row.exact_sets == 1)
        if overlap:
            theirs = next(self._results.find(shape=shape, method=peer, k=row.k)).overlap
            remark = f"overlap {row.overlap:.2f}, theirs {theirs:.2f}"
            return replace(target, remark=remark, holds=row.overlap >= theirs)
        return target

    def _finding(self, target: Target, least: float, row: Row | str) -> Target:
        """The target, missed if the overlap is below `least`."""
        if isinstance(row, str) or target.value is None:
            return target
        return replace(target, remark=f"overlap {row.overlap:.3f}", holds=row.overlap >= least)

    def _figure(self, text: str, name: str, limit: float, *, at_least: bool = False) -> Target:
        value = self._results.figures.get(name)
        return Target(text, limit, at_least, value, "" if value is not None else MEASURED)

    def _gain(self, figure: str, limit: float, before: Row | str, after: Row | str) -> Target:
        """How many times as fast it is afterwards."""
        if isinstance(before, str):
            return Target(figure, limit, True, None, before)
        return self._from(figure, limit, True, after, lambda row: before.milliseconds / row.milliseconds)

    def _build(self, limit: float) -> Target:
        figures = self._results.figures
        figure = "build from memory, one thread, against colbandit"
        if "build colbandit" not in figures:
            return Target(figure, limit, True, None, MEASURED)
        return Target(figure, limit, True, figures["build maxsieve"] / figures["build colbandit"])

    def _held(self, figure: str, limit: float, holder: str) -> Target:
        held = [holding.bytes_per_token for holding in self._results.holdings if holding.holder == holder]
        remark = MEASURED if not held else "the largest of the shapes" if len(held) > 1 else ""
        return Target(figure, limit, False, max(held, default=None), remark)

    def _depth(self, shape: str, limit: float) -> Target:
        figure = f"amx, {shape}: certified at K = 100 over K = 5"
        five, hundred = (self._row("amx", "certified", shape, k=k) for k in (5, 100))
        if isinstance(five, str):
            return Target(figure, limit, False, None, five)
        return self._from(figure, limit, False, hundred, lambda r: r.milliseconds / five.milliseconds)

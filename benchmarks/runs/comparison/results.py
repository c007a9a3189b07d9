"""The results of a run, as plain values that can be saved and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.peers.protocol import F64
from benchmarks.runs.comparison.measure import Timing
from benchmarks.vectors.truth import check


@dataclass(frozen=True)
class Row:
    """One method with its settings on one shape."""

    shape: str
    method: str
    ours: bool
    k: int
    isa: str
    threads: int
    batch: int
    runs: int
    milliseconds: float
    """For a query, the median."""
    quartiles: tuple[float, float]
    p95: float
    ns_per_token: float
    times_read_limit: float | None
    speedups: dict[str, float]
    """How many times as long the peers take, by their methods."""
    overlap: float
    exact_sets: float
    worst_error: float
    coverage: float | None
    rescored: float | None


@dataclass(frozen=True)
class Holding:
    """What a method needs to have a shape ready for searching."""

    shape: str
    holder: str
    bytes_per_token: float
    build_tokens_per_second: float | None
    """None: it uses the vectors as they are."""
    note: str = ""
    """What its scores are, if they are not MaxSim."""


@dataclass
class Results:
    """Everything that is printed and saved."""

    machine: dict[str, str]
    options: dict[str, object]
    shapes: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    """Of single calls, by name (see `calls`)."""
    absent: list[str] = field(default_factory=list)
    """What was left out, and why."""

    def find(self, **settings: object) -> Iterator[Row]:
        """Rows with these settings."""
        return (row for row in self.rows if all(getattr(row, name) == value for name, value in settings.items()))


def rows(
    shape: str, tokens: int, timings: Iterable[Timing], ks: list[int], truth: F64, ours: Iterable[str]
) -> Iterator[Row]:
    """A row for each timing and k it answers. The timing with k = 0 is the read limit."""
    all_timings = list(timings)
    limit = next((timing for timing in all_timings if timing.setting.k == 0), None)
    methods = [timing for timing in all_timings if timing is not limit]
    peers = [timing for timing in methods if timing.setting.method not in ours]
    for timing in methods:
        setting = timing.setting
        for k in [setting.k] if setting.selects else ks:
            rivals = [peer for peer in peers if peer.setting.k == k or not peer.setting.selects]
            answers = [(number, found) for number, found in timing.answers.items() if number < len(truth)]
            checked = check(truth, [(number, found.positions, found.scores) for number, found in answers], k)
            reports = [found.report for _, found in answers if found.report is not None]
            yield Row(
                shape,
                setting.method,
                setting.method in ours,
                k,
                setting.isa,
                setting.threads,
                setting.batch,
                len(timing.seconds),
                1e3 * timing.median,
                (1e3 * timing.quartiles[0], 1e3 * timing.quartiles[1]),
                1e3 * timing.p95,
                1e9 * timing.median / tokens,
                None if limit is None else timing.times(limit),
                {peer.setting.method: peer.times(timing) for peer in rivals if setting.method in ours},
                checked.overlap,
                checked.exact_sets,
                checked.worst_error,
                float(np.mean([report.coverage for report in reports])) if reports else None,
                float(np.mean([report.rescored for report in reports])) if reports else None,
            )

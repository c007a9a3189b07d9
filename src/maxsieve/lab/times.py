"""Timed searches, one query at a time. Policies take turns, so that noise on the machine affects all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from maxsieve import Hits
from maxsieve.lab.embedded import Embedded, to_strings
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.quality import overlap
from maxsieve.policies import Policy

QUERIES = 50
"""How many queries are timed by default; the paper uses as many for its ablations."""
QUICK_QUERIES = 10
ROUNDS = 3
"""How often each query is run; the fastest run counts."""


@dataclass(frozen=True)
class Timed:
    """A search setting: policy, K, threads."""

    policy: Policy
    k: int
    threads: int = 1


@dataclass
class Times:
    """For each query the fastest time in seconds, and its hits."""

    seconds: list[float] = field(default_factory=list)
    hits: list[Hits] = field(default_factory=list)

    @property
    def milliseconds(self) -> float:
        """The median over queries."""
        return 1e3 * float(np.median(self.seconds))

    @property
    def coverage(self) -> float:
        """The mean over queries."""
        return float(np.mean([found.report.coverage for found in self.hits]))

    @property
    def rescored(self) -> float:
        """The mean over queries."""
        return float(np.mean([found.report.rescored for found in self.hits]))

    @property
    def survivors(self) -> float:
        """The mean over queries."""
        return float(np.mean([found.report.survivors for found in self.hits]))

    def overlap(self, truth: dict[str, list[str]], k: int) -> float:
        """The mean over queries."""
        pairs = zip(self.hits, truth.values(), strict=True)
        return float(np.mean([overlap(to_strings(found), best[:k]) for found, best in pairs]))

    def stage(self, name: str) -> float:
        """The median over queries of one stage, in milliseconds."""
        return 1e3 * float(np.median([found.report.stages.get(name, 0.0) for found in self.hits]))


def timed_queries(data: Embedded, options: Options) -> Embedded:
    """The queries to time."""
    return data.first(options.queries or (QUICK_QUERIES if options.quick else QUERIES))


def measure(data: Embedded, ways: Sequence[Timed], options: Options) -> dict[Timed, Times]:
    """Runs every setting on every query, in turns."""
    times = {way: Times() for way in ways}
    rounds = 1 if options.quick else ROUNDS
    with options.bar("timing", len(data.queries)) as advance:
        for query, rows in data.queries.items():
            best: dict[Timed, tuple[float, Hits]] = {}
            for _ in range(rounds):
                for way in ways:
                    found = _search(data, query, rows, way)
                    if way not in best or found[0] < best[way][0]:
                        best[way] = found
            for way, (seconds, hits) in best.items():
                times[way].seconds.append(seconds)
                times[way].hits.append(hits)
            advance(1)
    return times


def _search(data: Embedded, query: str, rows: object, way: Timed) -> tuple[float, Hits]:
    exclude = data.excluded(query)
    start = time.perf_counter()
    hits = data.index.search(rows, way.k, policy=way.policy, exclude=exclude, threads=way.threads)
    return time.perf_counter() - start, hits

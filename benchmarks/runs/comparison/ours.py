"""maxsieve's policies as tasks to be timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import maxsieve as ms
from benchmarks.runs.comparison import readlimit
from benchmarks.runs.comparison.measure import Found, Setting, Task
from benchmarks.vectors.shapes import F32, Shape
from maxsieve import _core
from maxsieve.policies import Policy
from maxsieve.storage.calibration import queries_needed

POLICIES: dict[str, Policy] = {
    "certified": ms.Certified(),
    "calibrated-0.99": ms.Calibrated(0.99),
    "calibrated-0.95": ms.Calibrated(0.95),
    "calibrated-0.9": ms.Calibrated(0.9),
    "bandit-0.1": ms.Bandit(alpha=0.1),
    "bandit-0.2": ms.Bandit(alpha=0.2),
    "bandit-0.3": ms.Bandit(alpha=0.3),
    "bandit-1": ms.Bandit(alpha=1),
    "exhaustive": ms.Exhaustive(),
}


def build(shape: Shape, threads: int) -> ms.Index:
    """An index in memory; ids are positions."""
    return ms.Index.build(shape.rows, lengths=shape.lengths, threads=threads)


def needs(method: str) -> int:
    """How many queries are needed to calibrate."""
    policy = POLICIES.get(method)
    return queries_needed(policy.target) if isinstance(policy, ms.Calibrated) else 0


class Calibrating(NamedTuple):
    """The time to prepare an index for `Calibrated`, on all threads."""

    codebook_seconds: float
    calibration_seconds: float
    queries: int

    @property
    def seconds(self) -> float:
        """The seconds of both."""
        return self.codebook_seconds + self.calibration_seconds

    def describe(self, index: ms.Index) -> str:
        """The same in words, for a table."""
        book = index.storage.snapshot.codebook
        return (
            f"{book.centroids if book else 0:,} centroids learnt and tokens named in {self.codebook_seconds:.1f} s, "
            f"calibrated on {self.queries} queries in {self.calibration_seconds:.1f} s, on all threads"
        )


def calibrate(index: ms.Index, queries: Sequence[F32], k: int) -> Calibrating:
    """Makes the codebook of an index, and calibrates it on queries for a top k."""
    started = perf_counter()
    if index.storage.snapshot.codebook is None:  # a store of residuals has one
        index.train_codebook()
    trained = perf_counter()
    index.calibrate(queries, k)
    return Calibrating(trained - started, perf_counter() - trained, len(queries))


def list_bytes(index: ms.Index) -> int:
    """Bytes that a search by lists may read before it follows documents up: codebook, lists, offsets of documents."""
    state = index.storage.snapshot.here
    book = state.codebook.nbytes if state.codebook is not None else 0
    lists = sum(lists.nbytes for _, lists in state.lists)
    return book + lists + sum(segment.offsets.nbytes for segment in state.segments)


def tasks(
    index: ms.Index,
    queries: Sequence[F32],
    methods: Sequence[str],
    *,
    ks: Sequence[int],
    isas: Sequence[str],
    threads: Sequence[int],
    batches: Sequence[int],
) -> Iterator[Task]:
    """Every policy among `methods` under each setting. Batches are measured at the first `k` only."""
    for isa in isas:
        for method in methods:
            for count in threads:
                policies = [_seeded(POLICIES[method], number) for number in range(len(queries))]
                for k in ks:
                    for batch in batches if k == ks[0] else [b for b in batches if b == 1]:
                        run = partial(_one, index, queries, k, policies, count)
                        if batch > 1:
                            run = partial(_many, index, queries[:batch], k, policies, count)
                        yield Task(Setting(method, k, isa, count, batch), run, _read, partial(_core.use_isa, isa))


def read_limit(index: ms.Index) -> Task:
    """Reads all codes, and does nothing else."""
    name, read = readlimit.reader()
    return Task(Setting(name, 0), partial(_read_codes, readlimit.codes(index), read), lambda _: [])


def _seeded(policy: Policy, number: int) -> Policy:
    """Each query has its own order of tokens. Otherwise the overlap of all queries would depend on one order."""
    return replace(policy, seed=number) if isinstance(policy, ms.Bandit) else policy


def _one(
    index: ms.Index, queries: Sequence[F32], k: int, policies: Sequence[Policy], threads: int, number: int
) -> list[ms.Hits]:
    return [index.search(queries[number], k, policy=policies[number], threads=threads)]


def _many(
    index: ms.Index, queries: Sequence[F32], k: int, policies: Sequence[Policy], threads: int, _: int
) -> list[ms.Hits]:
    return index.search_many(queries, k, policy=policies[0], threads=threads)


def _read(answer: list[ms.Hits]) -> list[Found]:
    return [Found(np.array(hits.ids, np.int64), hits.scores.astype(np.float64), hits.report) for hits in answer]


def _read_codes(codes: list[Any], read: readlimit.Read, _: int) -> None:
    for array in codes:
        read(array)

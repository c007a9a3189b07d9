"""What single calls cost in addition to the search itself, and what building costs."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

import maxsieve as ms
from benchmarks.peers.protocol import Peer
from benchmarks.runs.comparison.ours import build
from benchmarks.vectors.shapes import Shape
from benchmarks.vectors.structured import Structured

RERANKED = 1000
Clock = Callable[[], float]


def rerank_overhead(size: int, runs: int) -> float:
    """Time of a whole call over its native part: `search` among 1,000 candidates by id, half of an index (median)."""
    corpus = Structured(size=size, mean_length=180)
    names = [f"document {position}" for position in range(size)]
    index = ms.Index.build(corpus.documents(), names)
    wanted = [names[i] for i in np.random.default_rng(0).permutation(size)[: min(RERANKED, size // 2)]]
    ratios = []
    for number in range(runs):
        query = corpus.query(number)
        started = perf_counter()
        hits = index.search(query, 10, candidates=wanted, threads=1)
        ratios.append((perf_counter() - started) / hits.report.seconds)
    return statistics.median(ratios)


def small_call(mean_length: int, runs: int, clock: Clock) -> float:
    """Microseconds of a search among 10 documents with a query of 8 tokens (median)."""
    corpus = Structured(size=10, mean_length=mean_length)
    index = ms.Index.build(corpus.documents())
    queries = corpus.queries(16, tokens=8)
    for query in queries:
        index.search(query, threads=1)
    times = [_seconds(partial(index.search, queries[n % 16], threads=1), clock) for n in range(runs)]
    return 1e6 * statistics.median(times)


def build_speeds(
    shape: Shape, make_peer: Callable[[], Peer] | None, runs: int, clock: Clock
) -> tuple[float, float | None]:
    """Tokens per second of `Index.build` with one thread, and of a peer, measured in turns (medians)."""
    ours, theirs = [], []
    for _ in range(runs):
        ours.append(_seconds(partial(build, shape, threads=1), clock))
        if make_peer is not None:
            theirs.append(_seconds(partial(make_peer().prepare, shape), clock))
    return shape.tokens / statistics.median(ours), shape.tokens / statistics.median(theirs) if theirs else None


def _seconds(work: Callable[[], object], clock: Clock) -> float:
    started = clock()
    work()
    return clock() - started

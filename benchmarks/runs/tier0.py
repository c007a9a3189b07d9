"""The cost of each part of tier 0, which indexes of earlier versions have: the scan, the table, and naming tokens.

    python -m benchmarks.runs.tier0

T = 32, d = 128, 16,384 centroids. Centroids of tokens are random, which is the worst case for reading the table.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter

import numpy as np

import maxsieve as ms
from benchmarks.vectors.structured import Structured
from maxsieve import _core

DIM, QUERY_TOKENS, LENGTH = 128, 32, 128
LEARNT = 1 << 20
"""Tokens to learn from: so many are needed for a codebook of 16,384 centroids."""
IN_CACHE, FROM_MEMORY = 1 << 16, 1 << 25
"""Tokens to scan, two bytes each: one number fits a cache, the other fits none."""
ASSIGNED = 1 << 17
DEPTH, K = 64, 10
SCAN_IN_CACHE, SCAN_FROM_MEMORY = "tier-0 scan in cache, ns a token", "tier-0 scan from memory, ns a token"
TABLE, ASSIGN = "tier-0 table, microseconds", "tokens named a second, 2 threads"


def measure(
    runs: int, learnt: int = LEARNT, in_cache: int = IN_CACHE, from_memory: int = FROM_MEMORY
) -> dict[str, float]:
    """All figures, as medians of so many runs."""
    corpus = Structured(size=learnt // LENGTH, mean_length=LENGTH)
    with ms.Index.build(corpus.documents(), store="int8") as index:
        segments = index.storage.snapshot.segments
        rows = np.concatenate([segment.codes for segment in segments])
        scale = np.concatenate([np.repeat(segment.scale, segment.lengths) for segment in segments])
        centroids = min(16384, 1 << (len(rows).bit_length() - 1))
        book, codes = _core.Codebook(DIM, *_core.train(DIM, rows, scale, centroids, 0, 2)), rows[:ASSIGNED]
        query = corpus.query(0, QUERY_TOKENS)
    assign = statistics.median(_seconds(lambda: _core.assign(book, codes, 2)) for _ in range(runs))
    figures = {ASSIGN: len(codes) / assign}
    for figure, tokens, times in ((SCAN_IN_CACHE, in_cache, 50), (SCAN_FROM_MEMORY, from_memory, 1)):
        native = _core.Corpus(DIM, (_segment(tokens, centroids),), book)
        everyone = [np.arange(tokens // LENGTH)]
        depth = _core.Calibrated(DEPTH, LENGTH)
        stages = [_core.search(native, [query], everyone, K, depth, 1, False)[0].stages for _ in range(times * runs)]
        figures[figure] = 1e9 * statistics.median(stage["tier 0"] for stage in stages) / tokens
        figures[TABLE] = 1e6 * statistics.median(stage["table"] for stage in stages)
    return figures


def _segment(tokens: int, centroids: int) -> _core.Segment:
    """Documents with random centroids and no real vectors: their codes are zeros in memory that was never written."""
    documents = tokens // LENGTH
    return _core.Segment(
        dim=DIM,
        offsets=LENGTH * np.arange(documents + 1),
        codes=np.zeros((tokens, _core.code_stride(DIM)), np.int8),
        scale=np.ones(documents, np.float32),
        rho=np.zeros(documents, np.float32),
        nu=np.ones(documents, np.float32),
        centroids=np.random.default_rng(0).integers(centroids, size=tokens, dtype=np.uint16),
    )


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


if __name__ == "__main__":
    for figure, value in measure(runs=10).items():
        print(f"{figure}: {value:,.4g}")

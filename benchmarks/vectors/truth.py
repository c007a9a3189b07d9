"""The float64 scores that every method's answer is checked against, computed once for a shape and cached."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.shapes import Shape
from maxsieve.common.cache import cache_folder, once

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

RECIPE = 1  # count up when this file changes what it computes
CHUNK = 1 << 14  # document tokens at a time
SAMPLE = 97  # one in so many rows is part of the cache's key
TIE = 1e-5
"""Scores this close are a tie: float32 can't be expected to tell them apart."""


@dataclass(frozen=True)
class Check:
    """How far the answers of a method are from the truth."""

    overlap: float
    """Mean share of the true top K that was found."""
    exact_sets: float
    """Share of queries whose top K is a true one (see `TIE`)."""
    worst_error: float
    """Largest difference of a returned score from the document's true one."""


def scores(shape: Shape, queries: int) -> F64:
    """MaxSim of the first `queries` queries with every document, in float64: [queries, documents]."""
    folder = cache_folder() / "truth" / f"{shape.name}-{_digest(shape, queries)}-{RECIPE}"

    def compute(target: Path) -> None:
        np.save(target / "scores.npy", _compute(shape, queries))

    once(folder, compute)
    return np.asarray(np.load(folder / "scores.npy"), np.float64)


def check(truth: F64, answers: Sequence[tuple[int, I64, F64]], k: int) -> Check:
    """Compares answers (number of the query, positions, scores) with `truth`. Of longer answers the first `k` count."""
    overlaps, exact, errors = [], [], []
    for number, positions, found in answers:
        true = truth[number]
        best = np.argsort(-true, kind="stable")[:k]
        mine = positions[:k]
        overlaps.append(len(np.intersect1d(best, mine)) / len(best))
        complete = len(np.unique(mine)) == len(best)
        exact.append(complete and bool(true[mine].min() >= true[best[-1]] - TIE))
        errors.append(float(np.abs(found[:k] - true[mine]).max()))
    return Check(float(np.mean(overlaps)), float(np.mean(exact)), max(errors))


def _compute(shape: Shape, queries: int) -> F64:
    ends = [0, *np.cumsum([len(query) for query in shape.queries[:queries]])]
    columns = np.concatenate(shape.queries[:queries]).astype(np.float64).T
    result = np.empty((queries, len(shape.lengths)))
    for documents, rows, starts in shape.chunks(CHUNK):
        cells = np.maximum.reduceat(rows.astype(np.float64) @ columns, starts, axis=0)
        for number in range(queries):
            result[number, documents] = cells[:, ends[number] : ends[number + 1]].sum(axis=1)
    return result


def _digest(shape: Shape, queries: int) -> str:
    whole = hashlib.sha256()
    for array in (shape.lengths, shape.rows[::SAMPLE], *shape.queries[:queries]):
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]

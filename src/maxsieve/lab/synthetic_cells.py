"""Synthetic matrices of cells, easy and hard for a sieve that judges rows by a few revealed cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from maxsieve.lab.embedded import F32, F64
from maxsieve.spec import RevealModel

ROWS, TOKENS = 100, 32
"""The shape of a matrix; the paper's queries have 32 tokens."""
WINNERS = 5
"""The K that `rare_large_cells` and `rare_small_cells` are made for."""
RIVALS = 20

Kind = Callable[[np.random.Generator], F64]


def even_rows(rng: np.random.Generator) -> F64:
    """Rows that differ in their means more than in their cells."""
    return rng.normal(rng.uniform(0.2, 0.8, (ROWS, 1)), 0.1, (ROWS, TOKENS))


def near_ties(rng: np.random.Generator) -> F64:
    """Rows of nearly the same mean."""
    return rng.normal(rng.normal(0.5, 0.02, (ROWS, 1)), 0.15, (ROWS, TOKENS))


def all_or_nothing(rng: np.random.Generator) -> F64:
    """Cells near 0 and 1 only: the first cells of a good row are often equal, although its variance is large."""
    ones = rng.random((ROWS, TOKENS)) < rng.uniform(0.1, 0.9, (ROWS, 1))
    return ones * 0.99 + rng.uniform(0, 0.01, (ROWS, TOKENS))


def rare_large_cells(rng: np.random.Generator) -> F64:
    """The best rows win by three large cells; their other cells are small and equal, below those of flat rivals."""
    return _flat(rng, best=0.3, spike=1.0, rivals=0.35, rival_spike=0.35)


def rare_small_cells(rng: np.random.Generator) -> F64:
    """Rivals look best until their three bad cells are seen."""
    return _flat(rng, best=0.4, spike=0.4, rivals=0.5, rival_spike=-0.95)


def _flat(rng: np.random.Generator, *, best: float, spike: float, rivals: float, rival_spike: float) -> F64:
    """The best rows, rivals and hopeless rows: constant up to a thousandth, except for three cells in each row."""
    levels = np.repeat([best, rivals, 0.1], [WINNERS, RIVALS, ROWS - WINNERS - RIVALS])
    spikes = np.repeat([spike, rival_spike, 0.1], [WINNERS, RIVALS, ROWS - WINNERS - RIVALS])
    spiked = rng.random((ROWS, TOKENS)).argsort(axis=1) < 3
    return np.where(spiked, spikes[:, None], levels[:, None]) + rng.normal(0, 0.001, (ROWS, TOKENS))


KINDS: tuple[Kind, ...] = (even_rows, near_ties, all_or_nothing, rare_large_cells, rare_small_cells)


def synthetic_models(kind: Kind, count: int) -> Iterator[tuple[RevealModel, F32]]:
    """Matrices of one kind with support [-1, 1], and their row sums."""
    for seed in range(count):
        cells = np.clip(kind(np.random.default_rng(seed)), -1, 1).astype(np.float32)
        nothing = np.zeros(ROWS)
        yield RevealModel(cells.astype(np.float64), np.ones(ROWS), np.ones(TOKENS), nothing, nothing), row_sums(cells)


def row_sums(cells: F32) -> F32:
    """Canonical scores: summed in float64, in the order of tokens."""
    return np.asarray(np.cumsum(cells, axis=1, dtype=np.float64)[:, -1], np.float32)

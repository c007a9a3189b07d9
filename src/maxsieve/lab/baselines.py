"""A fast version of the paper's baseline Doc-Uniform; `spec.doc_uniform` defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.doc_uniform import cells_per_row

F32 = NDArray[np.float32]


def doc_uniform(cells: F32, gammas: Sequence[float], k: int, seed: int) -> dict[float, list[int]]:
    """For each gamma the positions of the k best documents by ``cells_per_row(gamma, T)`` random cells of each.

    ``cells`` is the matrix H [N, T]. A row of ``-inf`` (an empty or excluded document) is never a hit. All gammas use a
    prefix of the same random order.

    >>> doc_uniform(np.array([[1, 1], [3, 3], [2, 2]], np.float32), [0.5, 1.0], 2, seed=0)
    {0.5: [1, 2], 1.0: [1, 2]}
    """
    documents, tokens = cells.shape
    budgets = np.array([cells_per_row(gamma, tokens) for gamma in gammas])[:, None]
    ranks = token_ranks(documents, tokens, seed)
    totals = np.zeros((len(gammas), documents))
    for t in range(tokens):  # in the order of tokens, as for canonical scores: at gamma = 1 both are equal
        totals += np.where(ranks[:, t] < budgets, cells[:, t], 0)
    order = np.argsort(-totals.astype(np.float32), axis=1, kind="stable")[:, :k]
    return {
        gamma: [position for position in best.tolist() if total[position] > -np.inf]
        for gamma, best, total in zip(gammas, order, totals, strict=True)
    }


def token_ranks(documents: int, tokens: int, seed: int) -> NDArray[np.int64]:
    """The rank of each token in each document's random order, [documents, tokens]: `spec.doc_uniform.token_order`.

    Runs one step of the shuffle for all documents at once; a document whose random word is rejected draws again.
    """
    state = np.uint64(seed << 32 & 2**64 - 1) + np.arange(documents, dtype=np.uint64)
    order = np.tile(np.arange(tokens), (documents, 1))
    rows = np.arange(documents)
    for last in range(tokens - 1, 0, -1):
        n = last + 1
        state, words = _next(state)
        while (again := words < np.uint64(2**64 % n)).any():
            state[again], words[again] = _next(state[again])
        partners = (words % np.uint64(n)).astype(np.int64)
        order[rows, partners], order[:, last] = order[:, last].copy(), order[rows, partners]
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(tokens)[None], axis=1)
    return ranks


def _next(state: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """SplitMix64: new states and their words, modulo 2^64 as NumPy's arrays of uint64 count."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    words = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, words ^ (words >> np.uint64(31))

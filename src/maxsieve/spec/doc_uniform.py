"""Doc-Uniform (Algorithm 2): the paper's non-adaptive baseline, a random budget of cells for every document."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32, permutation
from maxsieve.spec.maxsim import cells, score_of_cells, top_k


def cells_per_row(gamma: float, T: int) -> int:
    """``B = ceil(gamma T)`` for ``gamma`` in (0, 1].

    The float product can be slightly above a whole number (0.55 * 20 is more than 11), which must not cost a cell.

    >>> cells_per_row(0.55, 20), cells_per_row(0.01, 20), cells_per_row(1.0, 20)
    (11, 1, 20)
    """
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma must lie in (0, 1], not {gamma}")
    return max(1, math.ceil(gamma * T - 1e-9))


def token_order(T: int, seed: int, i: int) -> NDArray[np.int64]:
    """The random order of the query's tokens for document ``i``; its first ``B`` are ``R_i``, for every ``B``.

    The permutation of the generator's seed ``2^32 seed + i``: SplitMix64 is made for consecutive seeds, and its streams
    do not meet within 4,096 words of each other for any two documents below 2^32.

    >>> token_order(8, 0, 0).tolist() == permutation(8, 0).tolist()
    True
    """
    return permutation(T, (seed << 32) + i)


def doc_uniform(Q: F32, documents: Sequence[F32], K: int, gamma: float, *, seed: int = 0) -> list[int]:
    """Positions of the K best by ``sum_{t in R_i} H_it``; the revealed cells are added in the order of the tokens.

    At ``gamma = 1`` these are the canonical scores. Empty documents never hit.

    >>> docs = [np.eye(2, dtype=np.float32) * s for s in (1, 3, 2)]
    >>> doc_uniform(np.eye(2, dtype=np.float32), docs, 2, gamma=0.5)
    [1, 2]
    """
    T = len(Q)
    B = cells_per_row(gamma, T)
    S = np.full(len(documents), -np.inf, np.float32)
    for i, E in enumerate(documents):
        R = np.sort(token_order(T, seed, i)[:B])
        S[i] = score_of_cells(cells(Q[R], E))
    return top_k(S, K)

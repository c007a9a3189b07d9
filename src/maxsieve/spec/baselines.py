"""The paper's baselines: Doc-Uniform (Algorithm 2) and Ball-carving (Algorithm 3; MUVERA, appendix C.3).

Doc-Uniform is not adaptive: a random budget of cells for every document. Ball-carving is on the query's side: similar
tokens are scored as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32, lane_sum, permutation
from maxsieve.spec.maxsim import cells, score_of_cells, scores, top_k


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


def clusters(Q: F32, tau: float) -> list[list[int]]:
    """Step 1: the tokens of each cluster ``C_k``, ascending; ``tau`` in (0, 1].

    The first remaining token is the pivot; it takes every other remaining token whose cosine with it is at least
    ``tau``. It belongs to its own cluster by definition, not by its cosine with itself, which can round to less than 1
    and is 0 for a zero vector. At ``tau = 1`` only tokens of one direction can share a cluster; whether rounding joins
    them or not, the scores are the same up to rounding, for ``max <2q, e> = 2 max <q, e>``.

    >>> clusters(np.array([[2, 0], [0, 1], [3, 1]], np.float32), 0.9)
    [[0, 2], [1]]
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1], not {tau}")
    wide = Q.astype(np.float64)
    norm = np.sqrt(lane_sum(wide * wide))[:, None]
    unit = np.divide(wide, norm, out=wide, where=norm > 0)
    left, found = np.arange(len(Q)), []
    while len(left):
        cosines = lane_sum(unit[left] * unit[left[0]])
        near = cosines >= tau
        near[0] = True
        found.append(left[near].tolist())
        left = left[~near]
    return found


def centroids(Q: F32, tau: float) -> F32:
    """``c_k = sum_{i in C_k} q_i``, [k, d]: sums, not means, so that a cluster has the weight of its tokens.

    Summed in float64 in the order of tokens, rounded to float32: a single token is its own centroid, bit by bit.

    >>> centroids(np.array([[2, 0], [0, 1], [3, 1]], np.float32), 0.9).tolist()
    [[5.0, 1.0], [0.0, 1.0]]
    """
    sums = np.zeros((0, Q.shape[1]))
    for cluster in clusters(Q, tau):
        total = np.zeros(Q.shape[1])
        for i in cluster:
            total = total + Q[i]
        sums = np.concatenate([sums, total[None]])
    return sums.astype(np.float32)


def ball_carving(Q: F32, documents: Sequence[F32], K: int, tau: float) -> list[int]:
    """Positions of the K best by MaxSim with the centroids for a query (step 2).

    >>> docs = [np.eye(2, dtype=np.float32) * s for s in (1, 3, 2)]
    >>> ball_carving(np.eye(2, dtype=np.float32), docs, 2, tau=1.0)
    [1, 2]
    """
    return top_k(scores(centroids(Q, tau), documents), K)

"""Ball-carving (Algorithm 3; MUVERA, appendix C.3): the paper's query-side baseline, similar tokens scored as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxsieve.spec.arithmetic import F32, lane_sum
from maxsieve.spec.maxsim import scores, top_k


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

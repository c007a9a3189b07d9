"""MaxSim: cells ``H[i,t]`` (eq. def_H_matrix) and scores ``S_i`` (eq. def_row_sum), canonical to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxsieve.spec.arithmetic import F32, F64, fma32


def similarities(Q: F32, E: F32) -> F32:
    """All ``<q_t, e_j>`` as [T, L]: float32 chains of fused multiply-adds over ``k = 0..d-1``, starting from +0.0.

    >>> similarities(np.eye(2, dtype=np.float32), np.array([[3, 4], [5, 6]], np.float32)).tolist()
    [[3.0, 5.0], [4.0, 6.0]]
    """
    chain = np.zeros((Q.shape[0], E.shape[0]), np.float32)
    for k in range(Q.shape[1]):
        chain = fma32(Q[:, None, k], E[None, :, k], chain)
    return chain


def cells(Q: F32, E: F32) -> F32:
    """The row ``H[i, :]``: for each query token the largest similarity among the document's own tokens.

    There is no padding, so all-negative similarities stay negative. ``-inf`` for an empty document. A similarity can
    be -0.0, where a negative one was too small for float32; a cell that is zero is always +0.0 (adding +0.0 changes
    nothing else), for which of two zeros is the larger depends on the CPU.

    >>> cells(np.eye(2, dtype=np.float32), np.array([[3, 4], [5, -6]], np.float32)).tolist()
    [5.0, 4.0]
    """
    largest = similarities(Q, E).max(axis=1, initial=-np.inf)
    return np.asarray(largest + np.float32(0.0))


def score_of_cells(row: F32) -> np.float32:
    """``S_i``: the float64 sum of the cells over ``t = 0..T-1``, in that order from +0.0, rounded to float32.

    >>> float(score_of_cells(np.array([0.5, 0.25], np.float32)))
    0.75
    """
    total = 0.0
    for cell in row:
        total = total + float(cell)
    rounded: np.float32 = np.float32(total)
    return rounded


def scores(Q: F32, documents: Sequence[F32]) -> F32:
    """The canonical score of every document; ``-inf`` for an empty one.

    >>> scores(np.eye(2, dtype=np.float32), [np.eye(2, dtype=np.float32), np.zeros((0, 2), np.float32)]).tolist()
    [2.0, -inf]
    """
    return np.array([score_of_cells(cells(Q, E)) for E in documents], np.float32)


def scores_float64(Q: F32, documents: Sequence[F32]) -> F64:
    """The same scores in float64, by NumPy's own product: not equal in bits, but independent of the chain above."""
    Q64 = Q.astype(np.float64)
    return np.array([(Q64 @ E.astype(np.float64).T).max(axis=1, initial=-np.inf).sum() for E in documents])


def top_k(scores: F32, k: int) -> list[int]:
    """Positions of the k best scores, best first; ties go to the lower position; empty documents (``-inf``) never hit.

    >>> top_k(np.array([1, 3, -np.inf, 3], np.float32), 9)
    [1, 3, 0]
    """
    order = np.lexsort((np.arange(len(scores)), -scores))
    return [int(i) for i in order[:k] if scores[i] > -np.inf]

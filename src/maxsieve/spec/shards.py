"""The certified policy over shards: what their members tell each other, and which documents each of them scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxsieve.spec.arithmetic import F32, F64
from maxsieve.spec.certified import proxies_and_errors
from maxsieve.spec.maxsim import cells, score_of_cells, top_k


class ShardedAnswer(NamedTuple):
    """Positions and canonical scores of the K best documents, and how many documents each shard scored."""

    positions: list[int]
    scores: F32
    rescored: list[int]


def kth_or_none(x: F64, K: int) -> float:
    """The K-th largest number; -infinity if there are fewer."""
    return float(np.sort(x)[-K]) if len(x) >= K else -np.inf


def certified_in_shards(Q: F32, documents: Sequence[F32], shard_of: Sequence[int], K: int) -> ShardedAnswer:
    """The exhaustive top-K of documents in shards; ``shard_of`` has the number of each document's shard.

    Members exchange two numbers. The first is the K-th largest ``P_i + eps_i``: every member scores its documents that
    reach it. The second is ``tau``, the K-th best of these scores: every member scores those of its other documents
    whose ``P_i + eps_i`` reaches ``tau``. Any document left has a score below ``tau``, strictly.

    >>> docs = [np.eye(2, dtype=np.float32) * s for s in (1, 3, 2)]
    >>> certified_in_shards(np.eye(2, dtype=np.float32), docs, [0, 1, 0], 1).positions
    [1]
    """
    P, eps = proxies_and_errors(Q, documents)
    there = np.flatnonzero(np.isfinite(P)).tolist()
    upper = P + eps
    S = np.full(len(documents), -np.inf, np.float32)
    first = [i for i in there if upper[i] >= kth_or_none(upper[there], K)]
    for i in first:
        S[i] = score_of_cells(cells(Q, documents[i]))
    tau = kth_or_none(S[first].astype(np.float64), K)
    rest = [i for i in there if i not in first and upper[i] >= tau]
    for i in rest:
        S[i] = score_of_cells(cells(Q, documents[i]))
    positions = top_k(S, K)
    counts = np.bincount([shard_of[i] for i in (*first, *rest)], minlength=max(shard_of, default=-1) + 1)
    return ShardedAnswer(positions, S[positions], counts.tolist())

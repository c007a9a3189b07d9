"""Ward token pooling: fewer vectors for each document, each the mean of similar tokens (Clavié et al., 2024)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import describe_invalid, to_float32, to_matrix
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional

F32 = NDArray[np.float32]

UNIT = 1e-3
"""Tolerance for the length of a unit vector: float16 and bfloat16 round more than float32."""


def pool(doc: Any, factor: int) -> F32:
    """A document [L, d] with ``factor`` times fewer rows: ``max(1, L // factor)`` means of similar tokens, as float32.

    The tokens are clustered by Ward's method: each token starts as its own cluster, and the two clusters whose union
    adds least to the squared distances from the clusters' means are merged, until the requested number is left. Rows
    are in the order of their first tokens. ``L / factor`` is rounded down, as in Clavié's code and PyLate. An empty
    document stays empty, and ``factor=1`` returns the rows unchanged.

    If every row has unit length, similarity is cosine, and the means are scaled to unit length as well. Otherwise the
    scores of a document would be lower only because its tokens differ and so their mean is shorter. Means of other rows
    are not scaled.

    >>> import numpy as np
    >>> pool(np.array([[1.0, 0.0], [0.0, 4.0], [2.0, 0.0], [0.0, 5.0]]), 2).tolist()
    [[1.5, 0.0], [0.0, 4.5]]

    Needs SciPy: ``pip install 'maxsieve[pool]'``.
    """
    factor = as_count(factor, "factor", at_least=1)
    rows = to_float32(to_matrix(doc, "doc"), copy=True)
    if (row := _core.first_invalid_row(rows)) >= 0:
        raise ValueError(describe_invalid(rows[row], f"doc, row {row}"))
    return rows if factor == 1 or len(rows) < 2 else cut(rows, merges(rows), factor)


class Merges(NamedTuple):
    """The clusters that Ward's method merges, in order: tokens are ``0..L-1``, the n-th union is ``L + n``."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


def merges(rows: F32) -> Merges:
    """The whole hierarchy of a document's tokens, from which `cut` takes any number of clusters."""
    ward, pdist = optional("scipy.cluster.hierarchy", "pool").ward, optional("scipy.spatial.distance", "pool").pdist
    if len(rows) < 2:
        return Merges(np.zeros(0, np.int64), np.zeros(0, np.int64))
    steps = ward(pdist(rows.astype(np.float64)))
    return Merges(steps[:, 0].astype(np.int64), steps[:, 1].astype(np.int64))


def cut(rows: F32, steps: Merges, factor: int) -> F32:
    """The means of the ``max(1, L // factor)`` clusters that remain if the last merges are not done."""
    if factor == 1 or len(rows) < 2:
        return np.array(rows)
    means = _means(rows.astype(np.float64), clusters(len(rows), steps, factor))
    if (np.abs(np.linalg.norm(rows, axis=1) - 1) <= UNIT).all():
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        np.divide(means, lengths, out=means, where=lengths > 0)
    return np.asarray(means, np.float32)


def clusters(tokens: int, steps: Merges, factor: int) -> NDArray[np.int64]:
    """The cluster of each token, which is its row in `cut`: clusters are in the order of their first tokens."""
    left = max(min(1, tokens), tokens // factor)
    members = {token: [token] for token in range(tokens)}
    pairs = zip(steps.first.tolist(), steps.second.tolist(), strict=True)
    for union, (first, second) in zip(range(tokens, 2 * tokens - left), pairs, strict=False):
        members[union] = members.pop(first) + members.pop(second)
    labels = np.zeros(tokens, np.int64)
    for label, cluster in enumerate(sorted(members.values(), key=min)):
        labels[cluster] = label
    return labels


def _means(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    sums = np.add.reduceat(rows[order], np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=0)
    return np.asarray(sums / sizes[:, None])

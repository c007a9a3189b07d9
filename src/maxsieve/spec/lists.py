"""Lists of documents by centroid: a proxy that reads a few lists, and nothing of most documents.

The codebook is one of many centroids (`maxsieve.spec.codebook`). For each centroid there is a list of the documents
with a token that is assigned to it. A query token looks up its nearest centroids, which are found in a few groups. A
document's proxy is the sum over query tokens of a weight: how much more similar the best of these centroids that it has
is than the last of them. Weights are integers, so the proxy has the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32
from maxsieve.spec.codebook import Codebook, assign, groups_of
from maxsieve.spec.quantiser import QueryCodes, quantise_document, quantise_query

BLOCK = 65536
"""The most documents of a block: two bytes can number no more."""

MOST = 65535
"""The largest proxy: a document's sum of weights fits into two bytes."""


class Walk(NamedTuple):
    """How lists are walked: the nearest ``near`` centroids of a query token, found in its nearest ``opened`` groups.

    ``probes`` is how many groups were searched for the centroid of a document token, as in `assign`.
    """

    near: int
    opened: int
    probes: int


class Lists(NamedTuple):
    """Lists of consecutive documents, as arrays. The documents are in blocks of the same size; the last may be smaller.

    Bit c of ``present`` (bit ``c % 64`` of word ``c // 64``) says whether centroid c has a list. Lists are numbered in
    ascending order of centroids. List l has in block b of B the documents ``members[starts[i]:starts[i + 1]]``, with
    ``i = l * B + b``, numbered from the first of the block, ascending.
    """

    present: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    members: NDArray[np.uint16]


def make_lists(named: Sequence[NDArray[np.int64]], centroids: int, block: int = BLOCK) -> Lists:
    """The lists of documents, given as the centroids of their tokens.

    >>> lists = make_lists([np.array([1, 1, 3]), np.array([3]), np.array([1])], 4, block=2)
    >>> lists.present.tolist(), lists.starts.tolist(), lists.members.tolist()
    ([10], [0, 1, 2, 4, 4], [0, 0, 0, 1])
    """
    blocks = -(-len(named) // block)
    present = np.zeros(-(-centroids // 64), np.uint64)
    starts, members = [0], []
    having: dict[int, list[int]] = {}
    for document, ids in enumerate(named):
        for c in np.unique(ids).tolist():
            having.setdefault(c, []).append(document)
    for c in sorted(having):
        present[c // 64] |= np.uint64(1) << np.uint64(c % 64)
        for b in range(blocks):
            members += [document % block for document in having[c] if document // block == b]
            starts.append(len(members))
    return Lists(present, np.array(starts, np.uint32), np.array(members, np.uint16))


def nearest_centroids(book: Codebook, y: NDArray[np.int8], walk: Walk) -> tuple[NDArray[np.int64], F32]:
    """The centroids that are most similar to a token with codes [d], best first, and their similarities.

    Only the members of the groups nearest to it are compared. The similarity is the product ``<y, g_c>
    length_c``, in units of the two scales, each factor and the product rounded to float32. Ties go to the first
    centroid.
    """
    members = groups_of(book, y, walk.opened)
    dots = book.codes[members].astype(np.int64) @ y.astype(np.int64)
    similarity = dots.astype(np.float32) * book.length[members]
    best = np.lexsort((members, -similarity))[: walk.near]
    return members[best], similarity[best]


def list_weights(book: Codebook, y: QueryCodes, walk: Walk) -> list[dict[int, int]]:
    """For each query token the weights of its nearest centroids; those that are zero are left out.

    The weight is proportional to ``scale_t * (similarity - similarity of the last of them)``. The largest that occurs
    in the query becomes ``65535 // T``, so that no sum over T tokens exceeds 65535. All in float64, rounded after each
    operation; half a step is added, and the fraction cut off.
    """
    near = [nearest_centroids(book, codes, walk) for codes in y.codes]
    wide = [found.astype(np.float64) for _, found in near]
    excess = [np.float64(scale) * (found - found[-1]) for scale, found in zip(y.scale, wide, strict=True)]
    largest = max(float(one[0]) for one in excess)
    if largest == 0.0:
        return [{} for _ in near]
    step = np.float64(MOST // len(near)) / np.float64(largest)
    weights = [(one * step + 0.5).astype(np.int64) for one in excess]
    return [
        {int(c): int(w) for c, w in zip(ids, some, strict=True) if w > 0}
        for (ids, _), some in zip(near, weights, strict=True)
    ]


def list_proxies(weights: Sequence[Mapping[int, int]], named: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Proxies of documents, given as the centroids of their tokens: for each query token the largest weight, summed.

    -1 for a document in none of the lists that were read, or only with a weight of zero: it has no place.
    """
    proxies = [sum(max((of.get(int(c), 0) for c in set(ids.tolist())), default=0) for of in weights) for ids in named]
    return np.array([proxy or -1 for proxy in proxies], np.int64)


def walked_proxies(Q: F32, documents: Sequence[F32], book: Codebook, walk: Walk) -> NDArray[np.int64]:
    """Every document's proxy by lists; -1 for one without a place."""
    named = [assign(book, quantise_document(E).codes, walk.probes) for E in documents]
    return list_proxies(list_weights(book, quantise_query(Q), walk), named)

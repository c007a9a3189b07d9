"""Tier 0: every token is replaced by a centroid, and scores are looked up instead of computed (two bytes per token).

A codebook has C centroids in groups. A document token is assigned to the nearest centroid in a few groups. A query's
similarities to all centroids become one table of bytes. A document's proxy is a sum of maxima of bytes. From codes to
proxies everything is integers, or float32 in one defined order: the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32
from maxsieve.spec.quantiser import QueryCodes

PROBES = 8
"""How many groups are searched for a token's centroid in tier 0."""


class Codebook(NamedTuple):
    """C centroids of about unit length, as int8 codes with one scale, and the mean length of each centroid's tokens.

    Group ``g`` has the centroids ``starts[g]`` to ``starts[g + 1] - 1``; ``heads[g]`` are codes of its direction.
    """

    heads: NDArray[np.int8]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    scale: np.float32
    length: F32


def groups_of(book: Codebook, x: NDArray[np.int8], probes: int) -> NDArray[np.int64]:
    """The centroids, ascending, of the groups whose heads have the largest dot products with a token's codes [d].

    Ties go to the first group.
    """
    to_heads = book.heads.astype(np.int64) @ x.astype(np.int64)
    probed = np.lexsort((np.arange(len(to_heads)), -to_heads))[:probes]
    return np.sort(np.concatenate([np.arange(book.starts[g], book.starts[g + 1]) for g in probed]))


def assign(book: Codebook, codes: NDArray[np.int8], probes: int = PROBES) -> NDArray[np.int64]:
    """The centroid of each token, from its int8 codes [tokens, d].

    The ``probes`` groups whose heads have the largest dot products with the token are searched for the centroid with
    the largest dot product. Ties go to the first. A document's scale is positive and the same for all its tokens, so
    codes give the same result as vectors.

    >>> book = Codebook(np.array([[9, 0], [0, 9]], np.int8), np.array([0, 1, 3]), np.array([[9, 0], [0, 9], [5, 7]],
    ...     np.int8), np.float32(0.1), np.ones(3, np.float32))
    >>> assign(book, np.array([[100, 3], [50, 60], [0, 80]], np.int8)).tolist()
    [0, 2, 1]
    """
    ids = np.empty(len(codes), np.int64)
    for j, x in enumerate(codes):
        members = groups_of(book, x, probes)
        ids[j] = members[np.argmax(book.codes[members].astype(np.int64) @ x.astype(np.int64))]
    return ids


def similarity_table(book: Codebook, y: QueryCodes) -> NDArray[np.uint8]:
    """Bytes [C, T]: similarities of query tokens to centroids, in steps of 1/255 of their upper bound.

    The similarity is ``s_t <y_t, g_c> scale length_c``. Negative ones become 0: the best token of a document rarely has
    one. The upper bound is ``b = max_t |q_t| max_c length_c``, one for the whole query, so that bytes of different
    query tokens can be added. In float32, each operation rounded: ``(<y_t, g_c> * length_c) * factor_t + 0.5``, cut to
    [0, 255] and then to an integer.
    """
    largest = float(y.norm.max()) * float(book.length.max(initial=0))
    dots = y.codes.astype(np.int64) @ book.codes.astype(np.int64).T
    if largest == 0.0:
        return np.zeros(dots.T.shape, np.uint8)
    factor = (y.scale.astype(np.float64) * float(book.scale) * 255.0 / largest).astype(np.float32)
    steps = (dots.T.astype(np.float32) * book.length[:, None]) * factor[None, :] + np.float32(0.5)
    return np.asarray(np.clip(steps, np.float32(0), np.float32(255)), np.uint8)


def lookup_proxy(table: NDArray[np.uint8], ids: NDArray[np.int64]) -> int:
    """A document's proxy in tier 0: for each query token the largest byte of its tokens' centroids, summed."""
    return int(table[ids].max(axis=0).astype(np.int64).sum())


def lookup_proxies(table: NDArray[np.uint8], documents: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Proxies of documents, given as the centroids of their tokens; -1 for an empty document."""
    return np.array([lookup_proxy(table, ids) if len(ids) else -1 for ids in documents], np.int64)


def by_proxy(proxies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the documents that are not empty, by descending proxy; ties by position.

    >>> by_proxy(np.array([3, 5, -1, 5])).tolist()
    [1, 3, 0]
    """
    order = np.lexsort((np.arange(len(proxies)), -proxies))
    return order[proxies[order] >= 0]


def survivors(proxies: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Positions of the first n documents by proxy, ascending.

    >>> survivors(np.array([3, 5, -1, 5, 4]), 3).tolist()
    [1, 3, 4]
    """
    return np.sort(by_proxy(proxies)[:n])

"""colbandit, the paper's own package: its search, and its exhaustive scoring.

It finds a query token's best document token among int8 codes without regard to their scales, and scores by the sum of
cosine distances: the number of query tokens less that is the similarity of unit vectors.
"""

from __future__ import annotations

from functools import partial

import colbandit
import numpy as np

from benchmarks.peers.protocol import F32, Answer, Method
from benchmarks.vectors.shapes import Shape

BYTES_PER_TOKEN = 2500  # 1,333 kept at d = 128; while it builds, also the parts it concatenates and int32 codes


class Peer:
    """One index for all alphas, with the packed matrices of its exact rescore, which are on by default."""

    note = "the best token is found among int8 codes without their scales"
    most_tokens = None

    def __init__(self) -> None:
        self._index = colbandit.ColBandit(n_threads=1)

    def estimate(self, shape: Shape) -> int:
        """Flat rows in float32 and int8, and packed ones."""
        return BYTES_PER_TOKEN * shape.tokens

    def prepare(self, shape: Shape) -> None:
        """Index the documents."""
        self._index.index(shape.documents)

    @property
    def methods(self) -> list[Method]:
        """The search at two alphas, and every document scored."""
        return [
            Method("colbandit-0.2", partial(self._search, 0.2), selects=True),
            Method("colbandit-1", partial(self._search, 1.0), selects=True),
            Method("colbandit-full", self._full, selects=True),
        ]

    @property
    def nbytes(self) -> int:
        """Flat arrays and packed matrices."""
        index = self._index
        flat = (index._i8, index._f32, index._inv, index._offsets, index._sum_i8)
        return sum(array.nbytes for array in flat) + sum(matrix.nbytes for matrix in index._packed)

    def _search(self, alpha: float, query: F32, k: int) -> Answer:
        self._index.alpha_ef = alpha  # read by each search
        return _answer(query, *self._index.search(query, k))

    def _full(self, query: F32, k: int) -> Answer:
        positions, distances, _ = colbandit.full_maxsim(query, self._index._packed, K=k, n_threads=1)
        return _answer(query, positions, distances)


def _answer(query: F32, positions: list[int], distances: list[float]) -> Answer:
    return np.array(positions, np.int64), len(query) - np.array(distances, np.float64)

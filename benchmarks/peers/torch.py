"""torch: a float32 matrix product, then the maximum of each document's tokens.

Of what was tried (segment_reduce, index_reduce, padding with a mask, one product per document) nothing was clearly
faster than NumPy's `reduceat` on products that fit the cache.
"""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.peers.padded import TorchPeer
from benchmarks.peers.protocol import F32, Answer, Method, best
from benchmarks.vectors.shapes import Shape

CHUNK = 1 << 13  # document tokens in a product


class Peer(TorchPeer):
    """Takes the rows as they are, in chunks of whole documents."""

    def estimate(self, shape: Shape) -> int:
        """Only the memory for a query."""
        return 0

    def prepare(self, shape: Shape) -> None:
        """Cut the rows into chunks."""
        self.nbytes = shape.rows.nbytes
        self._chunks = [(torch.from_numpy(rows).T, starts) for _, rows, starts in shape.chunks(CHUNK)]

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("torch", self._search)]

    @torch.inference_mode()
    def _search(self, query: F32, k: int) -> Answer:
        vectors = torch.from_numpy(query)
        scores = [np.maximum.reduceat((vectors @ rows).numpy(), at, axis=1).sum(axis=0) for rows, at in self._chunks]
        return best(np.concatenate(scores), k)

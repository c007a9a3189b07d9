"""sentence-transformers: its `maxsim`, which `MultiVectorEncoder.similarity` calls."""

from __future__ import annotations

import torch
from sentence_transformers.util import maxsim

from benchmarks.peers.padded import PaddedPeer
from benchmarks.peers.protocol import F32, Answer, Method, best
from benchmarks.vectors.shapes import Shape

CHUNK_BYTES = 400_000_000  # its own default for what it holds at a time


class Peer(PaddedPeer):
    """Documents padded beforehand: given a list, `maxsim` pads it in every call, which takes twice as long."""

    def estimate(self, shape: Shape) -> int:
        """Padded vectors, and a chunk of similarities."""
        return shape.padded_bytes + 2 * CHUNK_BYTES

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("sentence-transformers", self._search)]

    @torch.inference_mode()
    def _search(self, query: F32, k: int) -> Answer:
        return best(maxsim(torch.from_numpy(query), self._vectors, b_mask=self._mask)[0].numpy(), k)

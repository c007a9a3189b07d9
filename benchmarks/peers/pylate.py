"""PyLate: its `colbert_scores`. A masked token counts as similarity zero, and can win over negative ones."""

from __future__ import annotations

import torch
from pylate.scores import colbert_scores

from benchmarks.peers.padded import PaddedPeer
from benchmarks.peers.protocol import F32, Answer, Method, best
from benchmarks.vectors.shapes import Shape


class Peer(PaddedPeer):
    """Documents padded beforehand."""

    note = "padding counts as similarity 0"

    def estimate(self, shape: Shape) -> int:
        """Padded vectors, and all similarities at once, before and after the mask."""
        cells = len(shape.lengths) * int(shape.lengths.max()) * max(len(query) for query in shape.queries)
        return shape.padded_bytes + 2 * 4 * cells

    def prepare(self, shape: Shape) -> None:
        """Pad the documents, with a mask of numbers."""
        super().prepare(shape)
        self._mask = self._mask.float()

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("pylate", self._search)]

    @torch.inference_mode()
    def _search(self, query: F32, k: int) -> Answer:
        return best(colbert_scores(torch.from_numpy(query)[None], self._vectors, self._mask)[0].numpy(), k)

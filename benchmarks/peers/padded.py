"""For libraries on torch: one thread, and documents padded to the longest, with a mask."""

from __future__ import annotations

import torch

from benchmarks.vectors.shapes import Shape


class TorchPeer:
    """A peer that takes tensors and scores on one thread."""

    note = ""
    most_tokens = None

    def __init__(self) -> None:
        torch.set_num_threads(1)


class PaddedPeer(TorchPeer):
    """Documents padded beforehand: vectors [documents, longest, d], zero where the mask [documents, longest] is."""

    def prepare(self, shape: Shape) -> None:
        """Pad the documents."""
        longest = int(shape.lengths.max())
        self._vectors = torch.zeros(len(shape.lengths), longest, shape.rows.shape[1])
        for document, rows in zip(self._vectors, shape.documents, strict=True):
            document[: len(rows)] = torch.from_numpy(rows)
        self._mask = torch.arange(longest) < torch.from_numpy(shape.lengths)[:, None]

    @property
    def nbytes(self) -> int:
        """The size of padded vectors and mask."""
        return self._vectors.nbytes + self._mask.nbytes

"""Documents padded to the longest, with a mask, for libraries that want them so."""

from __future__ import annotations

import torch

from shapes import Shape


def pad(shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors [documents, longest, d], zero where the mask [documents, longest] is false."""
    longest = int(shape.lengths.max())
    vectors = torch.zeros(len(shape.lengths), longest, shape.rows.shape[1])
    for document, rows in zip(vectors, shape.documents, strict=True):
        document[: len(rows)] = torch.from_numpy(rows)
    return vectors, torch.arange(longest) < torch.from_numpy(shape.lengths)[:, None]

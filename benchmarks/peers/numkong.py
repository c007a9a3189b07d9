"""NumKong: packed documents, scored one by one.

Like colbandit, whose kernel descends from it, it finds the best token among int8 codes and sums angular distances.
"""

from __future__ import annotations

from typing import Any

import numkong
import numpy as np

from benchmarks.peers.protocol import F32, Answer, Method, best
from benchmarks.vectors.shapes import Shape

BYTES_PER_TOKEN = {"f32": 720, "bf16": 460}  # at d = 128


class Peer:
    """Documents packed in `dtype`; there is no function for many of them, so a loop calls `maxsim_packed`."""

    note = "the best token is found among int8 codes without their scales"
    most_tokens = None

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def estimate(self, shape: Shape) -> int:
        """Int8 codes and values of `dtype`."""
        return BYTES_PER_TOKEN[self._dtype] * shape.tokens

    def prepare(self, shape: Shape) -> None:
        """Pack the documents."""
        self._documents = [self._pack(document) for document in shape.documents]

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method(f"numkong-{self._dtype}", self._search)]

    @property
    def nbytes(self) -> int:
        """The size of the packed matrices."""
        return sum(matrix.nbytes for matrix in self._documents)

    def _pack(self, rows: F32) -> Any:
        values = numkong.Tensor(rows).astype("bf16") if self._dtype == "bf16" else rows
        return numkong.maxsim_pack(values, dtype=self._dtype)

    def _search(self, query: F32, k: int) -> Answer:
        packed, score = self._pack(query), numkong.maxsim_packed
        distances = np.array([score(packed, document) for document in self._documents])
        return best(len(query) - distances, k)

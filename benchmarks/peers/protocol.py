"""What the benchmark asks of another library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.shapes import Shape

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Answer = tuple[I64, F64]
"""Positions of documents and their scores (similarities: more is better), best first."""


@dataclass(frozen=True)
class Method:
    """One way to search what a peer has prepared."""

    name: str
    search: Callable[[F32, int], Answer]
    """(query, k), timed: everything that depends on the query."""
    selects: bool = False
    """Its time depends on k. Otherwise it scores every document, and one search is used for all k."""


class Peer(Protocol):
    """A library with documents prepared for it, in the best way that its documentation shows. This is not timed."""

    note: str
    """What its scores are, if they are not MaxSim in float32."""
    most_tokens: int | None
    """With more document tokens, preparing would take too long."""

    def estimate(self, shape: Shape) -> int:
        """Bytes that it will need in addition to the vectors."""

    def prepare(self, shape: Shape) -> None:
        """Take in the documents."""

    @property
    def methods(self) -> list[Method]:
        """What it can do with them."""

    @property
    def nbytes(self) -> int:
        """Bytes it keeps for the documents, the vectors included."""


def best(scores: npt.NDArray[np.floating], k: int) -> Answer:
    """Find the k largest scores, best first."""
    k = min(k, len(scores))
    chosen = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
    return chosen, scores[chosen].astype(np.float64)

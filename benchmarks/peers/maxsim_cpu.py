"""maxsim-cpu: float32 scores of a list of documents."""

from __future__ import annotations

import maxsim_cpu

from benchmarks.peers.protocol import F32, Answer, Method, best
from benchmarks.vectors.shapes import Shape


class Peer:
    """Takes the documents as they are: `maxsim_scores_variable` is its function for unequal lengths."""

    note = ""
    most_tokens = None

    def estimate(self, shape: Shape) -> int:
        """Only the memory for a query."""
        return 0

    def prepare(self, shape: Shape) -> None:
        """Keep the list of documents."""
        self._documents, self.nbytes = shape.documents, shape.rows.nbytes

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("maxsim-cpu", self._search)]

    def _search(self, query: F32, k: int) -> Answer:
        return best(maxsim_cpu.maxsim_scores_variable(query, self._documents), k)

"""Qdrant in local mode: the client's own simulation of the server, in NumPy, for tests and small data."""

from __future__ import annotations

import numpy as np
from qdrant_client import QdrantClient, models

from benchmarks.peers.protocol import F32, Answer, Method
from benchmarks.vectors.shapes import Shape

COLLECTION = "documents"
BATCH = 64  # documents taken in at a time: each becomes a list of Python numbers on the way


class Peer:
    """A collection of multivectors compared by MaxSim."""

    note = "the server's local stand-in, not the server"
    most_tokens = 200_000

    def __init__(self) -> None:
        self._client = QdrantClient(":memory:")

    def estimate(self, shape: Shape) -> int:
        """A copy of the vectors."""
        return 2 * shape.rows.nbytes

    def prepare(self, shape: Shape) -> None:
        """Take in the documents."""
        self.nbytes = shape.rows.nbytes
        multivector = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        vectors = models.VectorParams(
            size=shape.rows.shape[1], distance=models.Distance.DOT, multivector_config=multivector
        )
        self._client.create_collection(COLLECTION, vectors_config=vectors)
        for first in range(0, len(shape.documents), BATCH):
            batch = enumerate(shape.documents[first : first + BATCH], first)
            points = [models.PointStruct(id=position, vector=rows.tolist()) for position, rows in batch]
            self._client.upsert(COLLECTION, points)

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("qdrant-local", self._search)]

    def _search(self, query: F32, k: int) -> Answer:
        found = self._client.query_points(COLLECTION, query=query.tolist(), limit=k, with_payload=False).points
        return np.array([point.id for point in found], np.int64), np.array([point.score for point in found])

"""Qdrant Edge: the engine of the Qdrant server inside this process. It compares the query with every document."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import qdrant_edge as library

from benchmarks.peers.protocol import F32, Answer, Method
from benchmarks.vectors.shapes import Shape

BATCH = 64  # documents taken in at a time: each becomes a list of Python numbers on the way


class Peer:
    """A shard of multivectors compared by MaxSim, without an index, as its documentation recommends for reranking."""

    note = "a full scan; the size is that on disk"
    most_tokens = 1_300_000

    def estimate(self, shape: Shape) -> int:
        """A copy of the vectors."""
        return 2 * shape.rows.nbytes

    def prepare(self, shape: Shape) -> None:
        """Takes in the documents."""
        self._folder = tempfile.TemporaryDirectory()
        multivector = library.MultiVectorConfig(comparator=library.MultiVectorComparator.MaxSim)
        vectors = library.EdgeVectorParams(
            size=shape.rows.shape[1],
            distance=library.Distance.Dot,
            multivector_config=multivector,
            hnsw_config=library.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=0),
        )
        config = library.EdgeConfig(vectors=vectors, max_search_threads=1)
        self._shard = library.EdgeShard.create(self._folder.name, config)
        for first in range(0, len(shape.documents), BATCH):
            batch = enumerate(shape.documents[first : first + BATCH], first)
            points = [library.Point(id=position, vector=rows.tolist()) for position, rows in batch]
            self._shard.update(library.UpdateOperation.upsert_points(points))
        self._shard.flush()
        self.nbytes = sum(path.stat().st_size for path in Path(self._folder.name).rglob("*") if path.is_file())

    @property
    def methods(self) -> list[Method]:
        """Every document scored."""
        return [Method("qdrant-edge", self._search)]

    def _search(self, query: F32, k: int) -> Answer:
        asked = library.QueryRequest(limit=k, query=library.Query.Nearest(query.tolist()))
        found = self._shard.query(asked)
        return np.array([point.id for point in found], np.int64), np.array([point.score for point in found])

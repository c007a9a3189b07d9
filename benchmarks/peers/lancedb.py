"""LanceDB, embedded: an inverted index of product-quantised tokens over a multivector column, and exact reranking."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa

from benchmarks.peers.protocol import F32, Answer, Method
from benchmarks.vectors.shapes import Shape

WAYS = {"lancedb": {}, "lancedb-refine-10": {"refine": 10}, "lancedb-thorough": {"probes": 100, "refine": 50}}
"""By default, with exact scores of 10 times as many documents, and with 100 probes and 50 times as many."""
SMALLEST = 256  # tokens that its index needs


class Peer:
    """A table with an index made by its documented defaults."""

    note = "the size is that on disk"
    most_tokens = 1_300_000

    def estimate(self, shape: Shape) -> int:
        """The vectors again, and what its training copies."""
        return 3 * shape.rows.nbytes

    def prepare(self, shape: Shape) -> None:
        """Takes in the documents, and makes the index."""
        self._folder = tempfile.TemporaryDirectory()
        dim = shape.rows.shape[1]
        offsets = np.concatenate([[0], np.cumsum(shape.lengths)]).astype(np.int32)
        rows = pa.FixedSizeListArray.from_arrays(pa.array(shape.rows.reshape(-1)), dim)
        column = pa.ListArray.from_arrays(pa.array(offsets), rows)
        table = pa.table({"id": pa.array(np.arange(len(shape.lengths))), "vector": column})
        self._table = lancedb.connect(self._folder.name).create_table("documents", table)
        if len(shape.rows) >= SMALLEST:
            self._table.create_index(vector_column_name="vector", metric="cosine", wait_timeout=timedelta(minutes=30))
        self.nbytes = sum(path.stat().st_size for path in Path(self._folder.name).rglob("*") if path.is_file())

    @property
    def methods(self) -> list[Method]:
        """Its search, in three ways."""
        return [Method(name, partial(self._search, **how), selects=True) for name, how in WAYS.items()]

    def _search(self, query: F32, k: int, probes: int = 0, refine: int = 0) -> Answer:
        asked = self._table.search(query, vector_column_name="vector").metric("cosine").limit(k)
        asked = asked.select(["id", "_distance"])
        if probes:
            asked = asked.nprobes(probes)
        if refine:
            asked = asked.refine_factor(refine)
        found = asked.to_arrow()
        return found["id"].to_numpy(), len(query) - found["_distance"].to_numpy().astype(np.float64)

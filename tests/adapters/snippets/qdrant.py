"""A collection of Qdrant in its local mode, and a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models


def names() -> dict[str, Any]:
    """``client`` with the collection ``docs``, which has a multivector ``colbert``; ``query`` is the beginning of 7."""
    rng = np.random.default_rng(0)
    documents = [rng.standard_normal((5 + i % 9, 16)).astype(np.float32) for i in range(100)]
    client = QdrantClient(":memory:")
    maxsim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    colbert = models.VectorParams(size=16, distance=models.Distance.COSINE, multivector_config=maxsim)
    client.create_collection("docs", vectors_config={"colbert": colbert})
    points = [
        models.PointStruct(id=i, vector={"colbert": rows.tolist()}, payload={"title": f"Title {i}"})
        for i, rows in enumerate(documents)
    ]
    client.upsert("docs", points)
    return {"client": client, "query": documents[7][:4]}

"""A table with the token vectors of a hundred documents, and a query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def names() -> dict[str, Any]:
    """``corpus``, a table with columns ``id``, ``emb`` and ``year``; ``query`` is the beginning of document ``d7``."""
    rng = np.random.default_rng(0)
    documents = [unit(rng.standard_normal((5 + i % 9, 16))) for i in range(100)]
    columns = {"id": [f"d{i}" for i in range(100)], "emb": [rows.tolist() for rows in documents], "year": range(100)}
    kinds = {"id": pa.string(), "emb": pa.list_(pa.list_(pa.float32(), 16)), "year": pa.int32()}
    return {"corpus": pa.table(columns, pa.schema(kinds)), "query": documents[7][:4]}


def unit(rows: Any) -> Any:
    """Rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

"""An index of a hundred documents, their vectors and texts, and a query."""

from __future__ import annotations

from typing import Any

import numpy as np

import maxsieve as ms


def names() -> dict[str, Any]:
    """``index`` with ids from 0 on, ``documents`` and ``texts``; ``query`` and ``question`` are about document 7."""
    rng = np.random.default_rng(0)
    documents = [rng.standard_normal((5 + i % 9, 32)).astype(np.float32) for i in range(100)]
    texts = [f"This is document {i}." for i in range(100)]
    return {
        "index": ms.Index.build(documents),
        "documents": documents,
        "texts": texts,
        "query": documents[7][:4],
        "question": "document 7",
        "np": np,
    }

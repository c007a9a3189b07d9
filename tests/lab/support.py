"""Files of ready-made embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def save_vectors(path: Path, documents: Sequence[NDArray[np.float32]], queries: Sequence[NDArray[np.float32]]) -> None:
    """Writes an ``.npz`` of documents d0, d1 and so on, and queries q0, q1 and so on."""
    np.savez(
        path,
        doc_tokens=np.concatenate(documents),
        doc_lengths=[len(rows) for rows in documents],
        doc_ids=[f"d{position}" for position in range(len(documents))],
        query_tokens=np.concatenate(queries),
        query_lengths=[len(rows) for rows in queries],
        query_ids=[f"q{number}" for number in range(len(queries))],
    )

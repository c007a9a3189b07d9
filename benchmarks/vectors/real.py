"""Real token vectors of a test collection in BEIR form, cached on disk.

Documents and queries are embedded with MiniLM (see `minilm`) and reduced from 384 to `dim` dimensions by a projection
fitted to the documents. Rows have unit length before and after.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.vectors import minilm
from benchmarks.vectors.minilm import F32, I64
from maxsieve.common.cache import cache_folder, once
from maxsieve.lab.corpora import read_corpus
from maxsieve.text.encoders.encoder import unit_rows
from maxsieve.text.encoders.projection import fit_projection

RECIPE = 1  # count up when this file changes what it computes
CHUNK = 1 << 16  # rows at a time


@dataclass(frozen=True)
class RealVectors:
    """Token vectors of a collection, as `Index.build(rows, ids, lengths=lengths)` and `index.search` take them."""

    doc_rows: F32
    """Unit rows [tokens, dim], document after document; memory-mapped, read-only."""
    doc_lengths: I64
    doc_ids: list[str]
    queries: list[F32]
    """One [T, dim] array per query."""
    query_ids: list[str]

    @property
    def documents(self) -> list[F32]:
        """One [L, dim] view per document."""
        return _split(self.doc_rows, self.doc_lengths)


def load(corpus: Path, *, dim: int = 128, documents: int | None = None, queries: int | None = None) -> RealVectors:
    """Load the token vectors of the collection in the folder `corpus`: embed it, or take it from the cache.

    `queries` keeps the first so many queries; `documents` keeps so many documents, those relevant to the queries first.
    """
    if not 1 <= dim <= minilm.DIM:
        raise ValueError(f"dim is {dim}; the model gives {minilm.DIM} dimensions, so it must be between 1 and that")
    collection = read_corpus(corpus)
    part = f"n{'all' if documents is None else documents}-q{'all' if queries is None else queries}-d{dim}"
    key = f"{collection.name}-{collection.digest[:12]}-{part}-{minilm.MODEL_DIGEST[:8]}-{RECIPE}"
    folder = cache_folder() / "vectors" / key

    def compute(target: Path) -> None:
        taken = collection.part(documents=documents, queries=queries)
        for kind, texts in (("query", taken.queries), ("doc", taken.documents)):
            rows, lengths = minilm.embed(list(texts.values()), f"{corpus.name}: {len(texts)} x {kind}")
            np.save(target / f"{kind}_rows.npy", rows)
            np.save(target / f"{kind}_lengths.npy", lengths)
            (target / f"{kind}_ids.json").write_text(json.dumps(list(texts)))
        if dim < minilm.DIM:  # `rows` are the documents' now
            basis = fit_projection(rows, dim)
            np.save(target / "doc_rows.npy", project(rows, basis))
            np.save(target / "query_rows.npy", project(np.load(target / "query_rows.npy"), basis))

    once(folder, compute)
    query_rows, query_lengths = np.load(folder / "query_rows.npy"), np.load(folder / "query_lengths.npy")
    return RealVectors(
        doc_rows=np.load(folder / "doc_rows.npy", mmap_mode="r"),
        doc_lengths=np.load(folder / "doc_lengths.npy"),
        doc_ids=json.loads((folder / "doc_ids.json").read_text()),
        queries=_split(query_rows, query_lengths),
        query_ids=json.loads((folder / "query_ids.json").read_text()),
    )


def project(rows: F32, basis: F32) -> F32:
    """Express the rows in the coordinates of `basis` [d, dim], at unit length again.

    >>> project(np.array([[3, 4, 9]], np.float32), np.eye(3, 2, dtype=np.float32)).astype(float).round(3).tolist()
    [[0.6, 0.8]]
    """
    reduced = np.empty((len(rows), basis.shape[1]), np.float32)
    for start in range(0, len(rows), CHUNK):
        reduced[start : start + CHUNK] = unit_rows(rows[start : start + CHUNK] @ basis)
    return reduced


def _split(rows: F32, lengths: I64) -> list[F32]:
    ends = np.cumsum(lengths)
    return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]

"""Ready-made embeddings: an ``.npz`` file of token vectors, and judgements beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import describe_invalid, to_float32
from maxsieve.exchange.npz import read_npz
from maxsieve.exchange.sidecars import beside
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.ids import find_duplicate
from maxsieve.lab.corpora.digest import digest
from maxsieve.lab.corpora.judgements import keep_known, warn_of_unjudged
from maxsieve.lab.corpora.sidecars import read_exclusions_json, read_judgements_json

F32 = NDArray[np.float32]

JUDGEMENTS, EXCLUSIONS = "{}.qrels.json", "{}.exclusions.json"


@dataclass(frozen=True, eq=False)
class ReadyVectors:
    """Documents and queries as token vectors [tokens, d] of float32, often mapped from the file; ids are str."""

    name: str
    documents: list[F32]
    doc_ids: list[str]
    queries: dict[str, F32]
    judgements: dict[str, dict[str, int]]
    """Query id -> document id -> grade; empty without a file of them."""
    digest: str
    """SHA-256 of the files, in hexadecimal."""
    exclusions: dict[str, list[str]]
    """Query id -> documents that must not be its hits; empty without a file of them."""


def read_vectors(path: str | Path) -> ReadyVectors:
    """The embeddings in ``NAME.npz``: arrays ``doc_tokens``, ``doc_lengths``, ``doc_ids`` and the same with ``query_``.

    Beside it there may be ``NAME.qrels.json``, ``{query: {document: grade}}``, and ``NAME.exclusions.json``,
    ``{query: [document, ...]}``, where queries are documents themselves: equal ids alone don't tell that.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/it.npz"
    ...     documents = {"doc_tokens": np.eye(3), "doc_lengths": [1, 2], "doc_ids": [7, 8]}
    ...     np.savez(file, **documents, query_tokens=np.ones((2, 3)), query_lengths=[2], query_ids=["q"])
    ...     vectors = read_vectors(file)
    >>> vectors.doc_ids, [rows.shape for rows in vectors.documents], vectors.queries["q"].shape
    (['7', '8'], [(1, 3), (2, 3)], (2, 3))
    """
    path = Path(path)
    judged, excluded = beside(path, JUDGEMENTS), beside(path, EXCLUSIONS)
    doc_ids, documents = _read(path, "doc", "document")
    query_ids, queries = _read(path, "query", "query")
    if queries[0].shape[1] != documents[0].shape[1]:
        raise ValueError(
            f"{path}: queries have vectors of {queries[0].shape[1]} dimensions, documents of {documents[0].shape[1]}"
        )
    if empty := [one for one, rows in zip(query_ids, queries, strict=True) if not len(rows)]:
        raise ValueError(f"{path}: query {empty[0]!r} has no tokens")
    known = set(doc_ids)
    judgements: dict[str, dict[str, int]] = {}
    if judged.is_file():
        judgements = keep_known(read_judgements_json(judged), str(judged), known, set(query_ids), stacklevel=2)
        warn_of_unjudged(str(judged), query_ids, judgements, {}, stacklevel=2)
    exclusions = read_exclusions_json(excluded, known, set(query_ids)) if excluded.is_file() else {}
    vectors = dict(zip(query_ids, queries, strict=True))
    return ReadyVectors(path.stem, documents, doc_ids, vectors, judgements, digest_of_vectors(path), exclusions)


def digest_of_vectors(path: Path) -> str:
    """SHA-256 of the file of embeddings and of what is beside it, in hexadecimal."""
    files = [path, *(beside(path, template) for template in (JUDGEMENTS, EXCLUSIONS))]
    return digest((one.name, one) for one in files if one.is_file())


def _read(path: Path, prefix: str, kind: str) -> tuple[list[str], list[F32]]:
    """The ids and vectors in the arrays whose names begin so."""
    names = (f"{prefix}_tokens", f"{prefix}_lengths", f"{prefix}_ids")
    try:
        found = read_npz(path, names=names)
    except (ValueError, TypeError) as problem:  # the same for documents and queries, but for this
        raise type(problem)(f"{problem} (reading {', '.join(names)})") from None
    ids = [str(one) for one in found.ids or []]
    if not ids:
        raise ValueError(f"{path}: there is no {kind} in it")
    if (repeated := find_duplicate(list(ids))) is not None:
        raise ValueError(f"{path}: the id {repeated!r} is in {names[2]} twice")
    rows = to_float32(found.rows)
    if (row := _core.first_invalid_row(rows)) >= 0:
        position = int(np.searchsorted(np.cumsum(found.lengths), row, side="right"))
        within = row - int(found.lengths[:position].sum())
        raise ValueError(describe_invalid(rows[row], f"{path}: {kind} {ids[position]!r}, row {within}"))
    return ids, list(TokenVectors(rows, found.lengths).documents())

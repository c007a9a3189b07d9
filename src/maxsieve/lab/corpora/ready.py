"""Precomputed embeddings: an ``.npz`` file of token vectors, and judgements beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import LARGEST, describe_invalid, to_float32
from maxsieve.exchange.npz import read_npz
from maxsieve.exchange.sidecars import beside
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.ids import find_duplicate
from maxsieve.lab.corpora.corpus import digest
from maxsieve.lab.corpora.judgements import Judgement, keep_known, warn_of_unjudged
from maxsieve.text.inputs.document import Place

F32 = NDArray[np.float32]

JUDGEMENTS, EXCLUSIONS = "{}.qrels.json", "{}.exclusions.json"


@dataclass(frozen=True, eq=False)
class ReadyVectors:
    """Documents and queries as token vectors [tokens, d] of float32, often memory-mapped; ids are str."""

    name: str
    documents: list[F32]
    doc_ids: list[str]
    queries: dict[str, F32]
    judgements: dict[str, dict[str, int]]
    """Query id -> document id -> grade; empty if there is no such file."""
    digest: str
    """SHA-256 of the files, in hexadecimal."""
    exclusions: dict[str, list[str]]
    """Query id -> documents that must not be its hits; empty if there is no such file."""


def read_vectors(path: str | Path) -> ReadyVectors:
    """The embeddings in ``NAME.npz``: arrays ``doc_tokens``, ``doc_lengths``, ``doc_ids`` and the same with ``query_``.

    Beside it there may be ``NAME.qrels.json``, ``{query: {document: grade}}``, and ``NAME.exclusions.json``,
    ``{query: [document, ...]}``, for queries that are documents themselves: equal ids alone are not enough.

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
    if empty := [query for query, rows in zip(query_ids, queries, strict=True) if not len(rows)]:
        raise ValueError(f"{path}: query {empty[0]!r} has no tokens")
    known = set(doc_ids)
    judgements: dict[str, dict[str, int]] = {}
    if judged.is_file():
        judgements = keep_known(_judgements(judged), str(judged), known, set(query_ids), stacklevel=2)
        warn_of_unjudged(str(judged), query_ids, judgements, {}, stacklevel=2)
    exclusions = _exclusions(excluded, known, set(query_ids)) if excluded.is_file() else {}
    vectors = dict(zip(query_ids, queries, strict=True))
    return ReadyVectors(path.stem, documents, doc_ids, vectors, judgements, digest_of_vectors(path), exclusions)


def digest_of_vectors(path: Path) -> str:
    """SHA-256 of the file of embeddings and the files beside it, in hexadecimal."""
    files = [path, *(beside(path, template) for template in (JUDGEMENTS, EXCLUSIONS))]
    return digest((file.name, file) for file in files if file.is_file())


def _read(path: Path, prefix: str, kind: str) -> tuple[list[str], list[F32]]:
    """The ids and vectors in the arrays with this prefix."""
    names = (f"{prefix}_tokens", f"{prefix}_lengths", f"{prefix}_ids")
    try:
        found = read_npz(path, names=names)
    except (ValueError, TypeError) as problem:  # the message alone does not tell documents from queries
        raise type(problem)(f"{problem} (reading {', '.join(names)})") from None
    ids = [str(identity) for identity in found.ids or []]
    if not ids:
        raise ValueError(f"{path}: it contains no {kind}")
    if (repeated := find_duplicate(list(ids))) is not None:
        raise ValueError(f"{path}: the id {repeated!r} is in {names[2]} twice")
    vectors = list(TokenVectors(to_float32(found.rows), found.lengths).documents())
    for identity, rows in zip(ids, vectors, strict=True):
        if len(wrong := np.flatnonzero(~(np.abs(rows) <= LARGEST).all(axis=1))):
            raise ValueError(describe_invalid(rows[wrong[0]], f"{path}: {kind} {identity!r}, row {wrong[0]}"))
    return ids, vectors


def _judgements(path: Path) -> Iterator[Judgement]:
    """The judgements in ``{query: {document: grade}}``."""
    for query, grades in _object(path).items():
        if not isinstance(grades, dict):
            raise ValueError(f"{path}: query {query!r} must have an object of documents and grades, not {grades!r}")
        for document, grade in grades.items():
            if type(grade) is not int:
                where = f"query {query!r}, document {document!r}"
                raise ValueError(f"{path}: {where}: the grade is {grade!r}; it must be a whole number")
            yield Judgement(Place(str(path)), query, document, grade)


def _exclusions(path: Path, documents: Collection[str], queries: Collection[str]) -> dict[str, list[str]]:
    """The exclusions in ``{query: [document, ...]}``, checked against known queries and documents."""
    exclusions: dict[str, list[str]] = {}
    for query, excluded in _object(path).items():
        if query not in queries:
            raise ValueError(f"{path}: there is no query {query!r}")
        if not isinstance(excluded, list):
            raise ValueError(f"{path}: query {query!r} must have a list of documents, not {excluded!r}")
        if unknown := [doc_id for doc_id in excluded if not isinstance(doc_id, str) or doc_id not in documents]:
            raise ValueError(f"{path}: query {query!r}: there is no document {unknown[0]!r}")
        exclusions[query] = excluded
    return exclusions


def _object(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path} is not valid JSON: {problem}") from None
    if not isinstance(loaded, dict):
        raise ValueError(f"{path} must contain a JSON object with queries as keys, not {type(loaded).__name__}")
    return loaded

"""Judgements and exclusions in JSON files, beside embeddings."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from maxsieve.lab.corpora.judgements import Judgement
from maxsieve.text.inputs.document import Place


def read_judgements_json(path: Path) -> Iterator[Judgement]:
    """The judgements in ``{query: {document: grade}}``."""
    for query, grades in _object(path).items():
        if not isinstance(grades, dict):
            raise ValueError(f"{path}: query {query!r} must have an object of documents and grades, not {grades!r}")
        for document, grade in grades.items():
            if type(grade) is not int:
                where = f"query {query!r}, document {document!r}"
                raise ValueError(f"{path}: {where}: the grade is {grade!r}; it must be a whole number")
            yield Judgement(Place(str(path)), query, document, grade)


def read_exclusions_json(path: Path, documents: Collection[str], queries: Collection[str]) -> dict[str, list[str]]:
    """The exclusions in ``{query: [document, ...]}``, all of them of known queries and documents."""
    exclusions: dict[str, list[str]] = {}
    for query, excluded in _object(path).items():
        if query not in queries:
            raise ValueError(f"{path}: there is no query {query!r}")
        if not isinstance(excluded, list):
            raise ValueError(f"{path}: query {query!r} must have a list of documents, not {excluded!r}")
        if unknown := [one for one in excluded if not isinstance(one, str) or one not in documents]:
            raise ValueError(f"{path}: query {query!r}: there is no document {unknown[0]!r}")
        exclusions[query] = excluded
    return exclusions


def _object(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path} is no JSON: {problem}") from None
    if not isinstance(loaded, dict):
        raise ValueError(f"{path} must hold a JSON object with queries as names, not {type(loaded).__name__}")
    return loaded

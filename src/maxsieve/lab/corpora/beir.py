"""Corpora in BEIR format: a folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maxsieve.lab.corpora.corpus import Corpus, digest, exclude_themselves
from maxsieve.lab.corpora.judgements import keep_known, read_judgements, warn_of_unjudged
from maxsieve.text.inputs.document import BadInput, Place, to_identity, to_text
from maxsieve.text.inputs.jsonl import to_object
from maxsieve.text.inputs.lines import numbered
from maxsieve.text.inputs.reading import opened

DOCUMENTS, QUERIES, JUDGEMENTS = ("corpus.jsonl",), ("queries.jsonl",), ("qrels.tsv", "qrels/test.tsv")
"""The files of each part; the first that exists is used."""


def read_beir(folder: Path, *, stacklevel: int = 1) -> Corpus:
    """The corpus in a folder. Its name is the folder's."""
    names = [_found(folder, part) for part in (DOCUMENTS, QUERIES, JUDGEMENTS)]
    paths = [folder / name for name in names]
    documents, _ = _texts(paths[0], document_text)
    queries, places = _texts(paths[1], query_text)
    with opened(str(paths[2])) as lines:
        found = read_judgements(lines, str(paths[2]))
        judgements = keep_known(found, str(paths[2]), documents, queries, stacklevel=stacklevel + 1)
    warn_of_unjudged(str(paths[1]), queries, judgements, places, stacklevel=stacklevel + 1)
    exclusions = exclude_themselves(queries, documents)
    return Corpus(
        folder.resolve().name, documents, queries, judgements, digest(zip(names, paths, strict=True)), exclusions
    )


def document_text(row: dict[str, Any]) -> str:
    """The text of a document that is indexed.

    >>> document_text({"_id": 1, "title": "Tea", "text": "A drink. "})
    'Tea A drink.'
    """
    title = "" if row.get("title") is None else to_text(row["title"], "title")
    return f"{title} {to_text(_field(row, 'text'), 'text')}".strip()


def query_text(row: dict[str, Any]) -> str:
    """The text of a query, which must not be empty."""
    text = to_text(_field(row, "text"), "text").strip()
    if not text:
        raise ValueError("the query is empty")
    return text


def _found(folder: Path, part: tuple[str, ...]) -> str:
    name = next((name for name in part if (folder / name).is_file()), None)
    if name is None:
        needed = f"{DOCUMENTS[0]}, {QUERIES[0]} and {' or '.join(JUDGEMENTS)}"
        raise FileNotFoundError(f"{folder} has no {' or '.join(part)}; a corpus needs {needed}")
    return name


def _texts(path: Path, text_of: Callable[[dict[str, Any]], str]) -> tuple[dict[str, str], dict[str, Place]]:
    """The texts of a file by id, and their places."""
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    with opened(str(path)) as lines:
        for place, line in numbered(lines, str(path)):
            row = to_object(line, place)
            try:
                identity, text = to_identity(_field(row, "_id"), "_id"), text_of(row)
            except ValueError as problem:
                raise BadInput(place, problem) from None
            if identity in texts:
                raise BadInput(place, f"the id {identity!r} was used before (line {places[identity].number})")
            texts[identity], places[identity] = text, place
    if not texts:
        raise ValueError(f"{path} is empty")
    return texts, places


def _field(row: dict[str, Any], name: str) -> Any:
    if name not in row:
        raise ValueError(f"there is no field {name!r}")
    return row[name]

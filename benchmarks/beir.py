"""Test collections in BEIR form: a folder with `corpus.jsonl`, `queries.jsonl` and, if judged, `qrels.tsv`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Collection:
    """Texts of documents (title, a space, text) and of queries, by id, in file order."""

    documents: dict[str, str]
    queries: dict[str, str]


def digest(folder: Path) -> str:
    """SHA-256 of the collection's files, in hexadecimal."""
    whole = hashlib.sha256()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        if (folder / name).is_file():
            content = (folder / name).read_bytes()
            whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def read(folder: Path, *, documents: int | None = None, queries: int | None = None) -> Collection:
    """Read the collection in `folder`, or a part of it: its first `queries` queries, and `documents` documents.

    The part holds every document that is judged relevant to its queries, and is filled up in file order.
    """
    asked = _first({row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}, queries)
    texts = {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in _rows(folder / "corpus.jsonl")}
    if documents is None or documents >= len(texts):
        return Collection(texts, asked)
    relevant = _relevant(folder / "qrels.tsv", set(asked)) & set(texts)
    if documents < len(relevant):
        raise ValueError(
            f"{len(asked)} queries of {folder.name} have {len(relevant)} relevant documents, which don't fit into "
            f"{documents}: ask for more documents or fewer queries"
        )
    others = [key for key in texts if key not in relevant]
    chosen = relevant.union(others[: documents - len(relevant)])
    return Collection({key: text for key, text in texts.items() if key in chosen}, asked)


def _first(texts: dict[str, str], count: int | None) -> dict[str, str]:
    return dict(list(texts.items())[:count])


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _relevant(path: Path, queries: set[str]) -> set[str]:
    """Ids of the documents judged above 0 for any of `queries`; none without a judgement file."""
    if not path.is_file():
        return set()
    judgements = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {document for query, document, score in judgements if query in queries and float(score) > 0}

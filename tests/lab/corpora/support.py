"""Small corpora in BEIR form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCUMENTS = [
    {"_id": "fox", "title": "The fox", "text": "A red fox by the river."},
    {"_id": "tea", "text": "Green tea."},
]
QUERIES = [{"_id": "q1", "text": "red fox"}, {"_id": "q2", "text": "green tea"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\tfox\t2\nq2\ttea\t1\nq2\tfox\t0\n"


def write_corpus(
    folder: Path,
    documents: Sequence[Any] | str = DOCUMENTS,
    queries: Sequence[Any] | str = QUERIES,
    qrels: str | bytes = QRELS,
    qrels_name: str = "qrels.tsv",
) -> Path:
    """A folder with these files; rows become lines of JSON, text is written as it is."""
    for name, content in (("corpus.jsonl", documents), ("queries.jsonl", queries), (qrels_name, qrels)):
        if not isinstance(content, (str, bytes)):
            content = "".join(json.dumps(row) + "\n" for row in content)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder

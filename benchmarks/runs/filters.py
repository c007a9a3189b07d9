"""Measures filters on metadata: what the first search with one takes, and the next with the same.

    python -m benchmarks.runs.filters --documents 1000000 --text 500

Every document has one vector of 16 numbers, so that the search itself takes little, and a record of a text and a few
fields. Times are of the processor, so that other work of the machine counts little. Everything is written to a
temporary folder and removed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import maxsieve as ms
from benchmarks.runs.arguments import positive

FILTERS: list[dict[str, Any]] = [
    {"year": {"gte": 2020}},
    {"year": {"gte": 2020}, "lang": "en"},
    {"lang": {"ne": "en"}},
    {"lang": {"in": ["de", "fr"]}, "author.name": {"gte": "n500"}},
    {"tags": {"contains": "t3"}},
    {"title": {"contains": "99"}},
    {"rating": {"lt": 2.5}},
    {"rating": 4.5},
    {'odd "name"': 1},
]
QUERY = np.ones((1, 16), np.float32)


def records(documents: int, text: int) -> Iterator[dict[str, Any]]:
    """Texts similar to those of a collection of articles."""
    rng = random.Random(0)
    words = [f"word{i}" for i in range(3000)]
    for i in range(documents):
        yield {
            "text": " ".join(rng.choices(words, k=text // 8)),
            "year": rng.randint(1990, 2026),
            "lang": rng.choice(["en", "de", "fr", "es"]),
            "title": f"Article {i}",
            "author": {"name": f"n{rng.randint(0, 999)}", "orcid": None},
            "tags": [f"t{rng.randint(0, 9)}" for _ in range(3)],
            "rating": rng.randint(0, 10) / 2,
        }


def seconds(index: ms.Index, where: Any) -> float:
    """CPU seconds of one search."""
    started = time.process_time()
    index.search(QUERY, 10, where=where)
    return time.process_time() - started


def main() -> None:
    """Builds, searches, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=positive, default=1_000_000)
    parser.add_argument("--text", type=positive, default=500, help="characters of a record's text")
    given = parser.parse_args()
    rows = np.random.default_rng(0).standard_normal((given.documents, 16), np.float32)
    table = Table("filter", "matches", "first, s", "again, ms")
    with tempfile.TemporaryDirectory() as folder:
        metadata = records(given.documents, given.text)
        index = ms.Index.build(rows, lengths=[1] * len(rows), metadata=metadata, path=Path(folder) / "index")
        size = sum(file.stat().st_size for file in (Path(folder) / "index").glob("*.records"))
        index.search(QUERY, 10, where={"year": {"exists": True}})  # from now on, the files are in the system's cache
        for where in FILTERS:
            first = seconds(index, where)
            again = 1e3 * min(seconds(index, where) for _ in range(5))
            found = index.search(QUERY, 1, where=where).report.survivors
            table.add_row(json.dumps(where), f"{found:,}", f"{first:.2f}", f"{again:.1f}")
        plain = 1e3 * min(seconds(index, None) for _ in range(5))
    Console(width=120).print(table)
    print(f"{given.documents:,} documents, records of {size / 1e6:,.0f} MB; a search without a filter: {plain:.1f} ms")


if __name__ == "__main__":
    main()

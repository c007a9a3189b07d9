"""What a token costs by the dimension d of its vectors: time of a search and bytes, for the dimensions of small models.

Codes are padded to a multiple of 32 bytes, so d = 48 is stored as 64. It measures CPU time on one thread, so that it
works on a machine with other work; the dimensions take turns, and the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import process_time

import maxsieve as ms
from benchmarks.runs.arguments import positive
from benchmarks.vectors.structured import Structured
from maxsieve import _core

DIMENSIONS = (32, 48, 64, 96, 128)
QUERIES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=positive, default=4000, help="of 120 tokens on average")
    parser.add_argument("--rounds", type=positive, default=10)
    options = parser.parse_args()
    corpora = {dim: Structured(size=options.documents, dim=dim) for dim in DIMENSIONS}
    queries = {dim: corpus.queries(QUERIES) for dim, corpus in corpora.items()}
    indexes, sizes = {}, {}
    for dim, corpus in corpora.items():
        documents = list(corpus.documents())
        indexes[dim] = ms.Index.build(documents, store="int8")
        sizes[dim] = on_disk(documents) / indexes[dim].tokens
    print("| d | bytes a token, int8 on disk | " + " | ".join(f"{isa}, ns a token" for isa in ms.isas()) + " |")
    print("|---|---|" + "---|" * len(ms.isas()))
    spent: dict[tuple[int, str], list[float]] = {(dim, isa): [] for dim in DIMENSIONS for isa in ms.isas()}
    for _ in range(options.rounds):
        for isa in ms.isas():
            _core.use_isa(isa)
            for dim, index in indexes.items():
                started = process_time()
                for query in queries[dim]:
                    index.search(query, 10, threads=1)
                spent[dim, isa].append((process_time() - started) / QUERIES / index.tokens * 1e9)
    for dim in DIMENSIONS:
        times = " | ".join(f"{min(spent[dim, isa]):.1f}" for isa in ms.isas())
        print(f"| {dim} | {sizes[dim]:.1f} | {times} |")


def on_disk(documents: list[object]) -> int:
    """Bytes of all files of an index."""
    with tempfile.TemporaryDirectory() as folder:
        ms.Index.build(documents, path=Path(folder) / "index", store="int8").close()
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


if __name__ == "__main__":
    main()

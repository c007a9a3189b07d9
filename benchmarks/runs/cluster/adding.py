"""Measures adding to a collection in shards: texts and tokens per second, compared with one collection.

    MAXSIEVE_CORPORA=... python -m benchmarks.runs.cluster.adding --documents 1000

The texts are those of SciFact, and the encoder is the default one. "one collection" is `Collection.add`. "no workers"
is `Collection.add` in the same process: the difference is the cost of staging and of writing shards. "driver"
adds the same texts again: all are skipped and nothing is encoded, so this is the cost of the process that adds. The
other lines use workers of a local Ray; the time to start Ray is not included. If other programs run at the same time,
compare the CPU times. "in all" includes Ray's own processes and the start of workers. Everything is written to a
temporary folder, which is removed.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.runs.arguments import positive
from benchmarks.runs.cluster.processes import Watch, mark
from maxsieve import Collection


def read_texts(documents: int) -> list[str]:
    """The titles and texts of the first documents of SciFact."""
    path = Path(os.environ["MAXSIEVE_CORPORA"]) / "scifact" / "corpus.jsonl"
    with path.open() as lines:
        records = [json.loads(line) for line, _ in zip(lines, range(documents), strict=False)]
    return [f"{record['title']}\n{record['text']}" for record in records]


def measure(table: Table, name: str, texts: list[str], add: Callable[[], Any], tokens: Callable[[], int]) -> None:
    """Adds a line to the table: wall-clock time, and CPU time of this process and of all processes."""
    watch = Watch()
    clock, own = time.perf_counter(), time.process_time()
    add()
    clock, own = time.perf_counter() - clock, time.process_time() - own
    watch.stop()
    row = [clock, len(texts) / clock, tokens() / clock, own, watch.seconds, watch.seconds / tokens() * 1e6]
    table.add_row(name, *(f"{number:,.1f}" for number in row))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=positive, default=1000)
    parser.add_argument("--shards", type=positive, default=4)
    parser.add_argument("--workers", type=positive, nargs="*", default=[1, 2])
    chosen = parser.parse_args()
    texts = read_texts(chosen.documents)
    ids = list(range(len(texts)))
    columns = ("seconds", "texts/s", "tokens/s", "CPU s here", "CPU s in all", "CPU us a token")
    table = Table("", *columns, title=f"{len(texts)} texts of SciFact, minilm")
    mark()
    with tempfile.TemporaryDirectory() as folder:
        one = Collection.create(Path(folder, "one"))
        one.encoder.encode_documents(["warm"])
        measure(table, "one collection", texts, lambda: one.add(texts, ids), lambda: one.index.tokens)
        total = one.index.tokens
        many = Collection.create(Path(folder, "here"), one.encoder, shards=chosen.shards)
        measure(table, "no workers", texts, lambda: many.add(texts, ids, workers=0), lambda: total)
        measure(table, "driver", texts, lambda: many.add(texts, ids, workers=0), lambda: total)
        if chosen.workers:
            import ray

            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        for workers in chosen.workers:
            corpus = Collection.create(Path(folder, f"ray{workers}"), shards=chosen.shards)
            rows = [{"id": one, "text": text} for one, text in zip(ids, texts, strict=True)]
            dataset = ray.data.from_items(rows)

            def add(corpus: Collection = corpus, dataset: Any = dataset, workers: int = workers) -> None:
                corpus.add(dataset, text="text", id="id", workers=workers)

            measure(table, f"dataset, workers: {workers}", texts, add, lambda: total)
    Console().print(table)


if __name__ == "__main__":
    main()

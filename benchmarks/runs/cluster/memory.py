"""Measures the memory of all processes during an addition to a collection in shards. It should not grow.

    python -m benchmarks.runs.cluster.memory --documents 5000 50000

Documents of 20 words are generated on the nodes when they are needed. The encoder looks up words in a table, so that
almost all time is spent on adding. Batches are committed at 8 MB instead of 256 MB, so that there are many commits. The
output has the largest resident sizes (including shared pages) and the largest number of staged bytes.
"""

from __future__ import annotations

import argparse
import logging
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.runs.arguments import positive
from benchmarks.runs.cluster.processes import Watch, mark
from maxsieve import Collection
from maxsieve.text.distributed import add as adding
from maxsieve.text.distributed.staged import staged_bytes

WORDS, WORD = 1000, re.compile(r"[0-9]+")
NAMES = {
    "this": "the process that adds",
    "ray::EncodingWorker": "an encoder",
    "ray::write_shard": "a writer of a shard",
    "ray::compact_if_worth": "a compactor of a shard",
}


class TableEncoder:
    """An encoder of numbers: the vector of a word is the row of a table with that number."""

    name, dim = "table", 128

    def __init__(self) -> None:
        self.fingerprint = {"table": "1"}
        rows = np.random.default_rng(0).standard_normal((WORDS, self.dim)).astype(np.float32)
        self._rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        """The vectors of each text."""
        return self.encode_queries(texts)

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The same."""
        return [self._rows[[int(word) for word in text.split()]] for text in texts]

    def document_spans(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each word."""
        return [match.span() for match in WORD.finditer(text)]

    query_spans = document_spans


def write_texts(batch: dict[str, Any]) -> dict[str, Any]:
    """Makes the texts of some documents from their ids. Ray Data calls this on the nodes."""
    words = [np.random.default_rng(int(one)).integers(0, WORDS, 20) for one in batch["id"]]
    return {"id": batch["id"], "body": np.array([" ".join(map(str, some)) for some in words], dtype=object)}


def measure(documents: int) -> dict[str, int]:
    """Adds documents, and returns the largest sizes."""
    import ray

    dataset = ray.data.range(documents, override_num_blocks=max(4, documents // 1000))
    with tempfile.TemporaryDirectory() as folder:
        corpus = Collection.create(Path(folder, "corpus"), TableEncoder(), shards=4)
        staged: list[int] = []
        watch = Watch(lambda: staged.append(staged_bytes(corpus.path)))
        corpus.add(dataset.map_batches(write_texts, batch_size=1000), text="body", id="id")
        watch.stop()
        if corpus.ids != list(range(documents)):
            raise AssertionError("documents are missing, or in another order")
        corpus.close()
    return {**{NAMES[name]: size for name, size in watch.peaks.items() if name in NAMES}, "staged": max(staged)}


def main() -> None:
    """Prints a table with a column for each number of documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=positive, nargs="+", default=[5000, 50000])
    chosen = parser.parse_args()
    import ray

    adding.COMMIT_BYTES = 8 << 20
    here = {"env_vars": {"PYTHONPATH": str(Path(__file__).parents[3])}}  # workers import the encoder
    mark()
    found = {}
    for documents in chosen.documents:  # each with a new Ray: a peak is over the whole lifetime of a process
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        ray.init(num_cpus=2, include_dashboard=False, runtime_env=here, **quiet)
        started = time.perf_counter()
        found[documents] = measure(documents)
        print(f"{documents:,} documents in {time.perf_counter() - started:.0f} s")
        ray.shutdown()
    table = Table("largest, MB", *(f"{documents:,} documents" for documents in found))
    for name in sorted({name for sizes in found.values() for name in sizes}):
        table.add_row(name, *(f"{sizes[name] / 1e6:,.0f}" if name in sizes else "-" for sizes in found.values()))
    Console().print(table)


if __name__ == "__main__":
    main()

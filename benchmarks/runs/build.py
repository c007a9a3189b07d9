"""Times building an index from each form of input, beside a copy of the same rows, and colbandit if it is there.

    python -m benchmarks.runs.build --dim 128 768 --threads 1 2

All builds of a round follow each other, and each figure is the best of the rounds, so that a busy machine disturbs them
alike. Tokens per CPU second count the time of all threads: what a core does when it has no other work.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import maxsieve as ms
from benchmarks.runs.arguments import positive


@dataclass
class Timed:
    """A way to take in all tokens, and its shortest time."""

    name: str
    threads: int | None
    work: Callable[[], object]
    wall: float = float("inf")
    cpu: float = float("inf")

    def run(self) -> None:
        """Runs it once more."""
        wall, cpu = time.perf_counter(), time.process_time()
        made = self.work()
        self.wall = min(self.wall, time.perf_counter() - wall)
        self.cpu = min(self.cpu, time.process_time() - cpu)
        del made


def copies(flat: Any) -> Iterator[Timed]:
    """The limit set by memory: the rows copied over others, and to new memory."""
    target = np.zeros_like(flat)
    yield Timed("copy of the rows, in place", None, partial(np.copyto, target, flat))
    yield Timed("copy of the rows, to fresh memory", None, flat.copy)


def builds(flat: Any, length: int, threads: int, folder: Path) -> Iterator[Timed]:
    """One build for each form of input."""
    count, dim = len(flat) // length, flat.shape[1]
    documents = [rows.copy() for rows in flat.reshape(count, length, dim)]
    lengths = np.full(count, length)
    padded = np.zeros((count, length + length // 4, dim), np.float32)
    padded[:, :length] = flat.reshape(count, length, dim)
    first = np.broadcast_to(np.arange(padded.shape[1]) < length, padded.shape[:2])
    scattered = first.copy()
    scattered[:, [0, -1]] = scattered[:, [-1, 0]]

    def build(docs: Any, **how: Any) -> Callable[[], object]:
        return lambda: ms.Index.build(docs() if callable(docs) else docs, threads=threads, **how)

    def to_disk() -> None:
        path = folder / "index"
        ms.Index.build(flat, lengths=lengths, threads=threads, path=path).close()
        shutil.rmtree(path)

    yield Timed("list of documents", threads, build(documents))
    yield Timed("generator of documents", threads, build(lambda: iter(documents)))
    yield Timed("flat", threads, build(flat, lengths=lengths))
    yield Timed("padded, mask of first tokens", threads, build(padded, mask=first))
    yield Timed("padded, mask of any tokens", threads, build(padded, mask=scattered))
    yield Timed("flat, float16", threads, build(flat.astype(np.float16), lengths=lengths))
    yield Timed("flat, float64", threads, build(flat.astype(np.float64), lengths=lengths))
    yield Timed("flat, similarity='cosine'", threads, build(flat, lengths=lengths, similarity="cosine"))
    yield Timed("flat, store='float16'", threads, build(flat, lengths=lengths, store="float16"))
    yield Timed("flat, to disk", threads, to_disk)
    try:
        import torch
    except ImportError:
        return
    yield Timed("list of torch tensors", threads, build([torch.from_numpy(rows) for rows in documents]))


def peers(flat: Any, length: int) -> Iterator[Timed]:
    """colbandit, if it is installed."""
    try:
        from colbandit import ColBandit
    except ImportError:
        return
    documents = list(flat.reshape(-1, length, flat.shape[1]))
    yield Timed("colbandit, list of documents", 1, lambda: ColBandit().index(documents))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=positive, nargs="+", default=[128])
    parser.add_argument("--length", type=positive, default=120, help="tokens of a document")
    parser.add_argument("--megabytes", type=positive, default=128, help="float32 rows of all documents")
    parser.add_argument("--threads", type=positive, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=10)
    arguments = parser.parse_args()
    table = Table("dim", "what", "threads", "million tokens/s", "million tokens/CPU second")
    for dim in arguments.dim:
        count = max(1, (arguments.megabytes << 20) // (4 * dim * arguments.length))
        flat = np.random.default_rng(0).standard_normal((count * arguments.length, dim), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            timed = [*copies(flat), *peers(flat, arguments.length)]
            for threads in arguments.threads:
                timed += builds(flat, arguments.length, threads, Path(folder))
            for _ in track(range(arguments.rounds), f"d = {dim}"):
                for one in timed:
                    one.run()
        for one in timed:
            rates = (f"{len(flat) / seconds / 1e6:.2f}" for seconds in (one.wall, one.cpu))
            table.add_row(str(dim), one.name, "" if one.threads is None else str(one.threads), *rates)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

"""What lists cost when documents are added: tokens per CPU second into an index without and with a codebook.

Documents of a segment that is sealed get their lists at once, smaller ones with the next update. It measures CPU time
of the whole process; both kinds of index take turns, and the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

import maxsieve as ms
from benchmarks.runs.arguments import positive
from benchmarks.vectors.structured import Structured

BATCHES = {10: 2000, 1000: 8000}
"""How many documents are added at a time, and how many in all."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=positive, default=8000, help="that are there before")
    parser.add_argument("--rounds", type=positive, default=5)
    options = parser.parse_args()
    corpus = Structured(size=options.documents + max(BATCHES.values()), dim=128)
    documents = [np.asarray(rows) for rows in corpus.documents()]
    there, new = documents[: options.documents], documents[options.documents :]
    print("| where | documents at a time | without a codebook | with | segments | parts of lists |")
    print("|---|---|---|---|---|---|")
    for where, (batch, count) in product(("memory", "disk"), BATCHES.items()):
        best, shape = {False: 0.0, True: 0.0}, ""
        for _, coded in product(range(options.rounds), (False, True)):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "index" if where == "disk" else None
                index = ms.Index.build(there, path=path, store="int8")
                if coded:
                    index.train_codebook()
                best[coded] = max(best[coded], added_a_second(index, new[:count], batch))
                snapshot = index.storage.snapshot.here
                shape = f"{len(snapshot.segments)} | {len(snapshot.lists)}"
                index.close()
        print(f"| {where} | {batch} | {best[False]:,.0f} | {best[True]:,.0f} | {shape} |", flush=True)


def added_a_second(index: ms.Index, new: list[np.ndarray], batch: int) -> float:
    """Tokens that are added in a second of CPU time."""
    started = process_time()
    for first in range(0, len(new), batch):
        some = new[first : first + batch]
        index.add(some, range(10**6 + first, 10**6 + first + len(some)))
    return sum(map(len, new)) / (process_time() - started)


if __name__ == "__main__":
    main()

"""The time to read an Arrow table's lists as vectors, compared with Python lists.

    python -m benchmarks.runs.tables --tokens 80000

All offsets are checked, and nothing is copied: `exchange.from_arrow(table).joined()`. The median of several runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.runs.arguments import positive
from maxsieve import exchange

LENGTH = 100


def main() -> None:
    """Print a line for each form of lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=positive, default=80_000)
    parser.add_argument("--dim", type=positive, default=128)
    given = parser.parse_args()
    documents = max(1, given.tokens // LENGTH)
    rows = np.random.default_rng(0).standard_normal((documents * LENGTH, given.dim)).astype(np.float32)
    numbers = pa.array(rows.reshape(-1))
    ends = pa.array(np.arange(documents + 1, dtype=np.int32) * LENGTH)
    inner = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1, dtype=np.int32) * given.dim), numbers)
    fixed = pa.ListArray.from_arrays(ends, pa.FixedSizeListArray.from_arrays(numbers, given.dim))
    lists = pa.ListArray.from_arrays(ends, inner)
    ids = [f"d{i}" for i in range(documents)]
    for name, column in (("list<fixed_size_list>", fixed), ("list<list>", lists)):
        table = pa.table({"id": ids, "emb": column})
        ours = milliseconds(lambda table=table: exchange.from_arrow(table).joined(), 51)
        slow = milliseconds(lambda column=column: np.array(column.to_pylist(), np.float32), 1)
        print(f"{name:22} {len(rows):,} tokens, d = {given.dim}: {ours:.2f} ms; by to_pylist {slow:,.0f} ms")


def milliseconds(do: Callable[[], Any], runs: int) -> float:
    """The median time of a call."""
    took = []
    for _ in range(runs):
        started = perf_counter()
        do()
        took.append(perf_counter() - started)
    return median(took) * 1e3


if __name__ == "__main__":
    main()

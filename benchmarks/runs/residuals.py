"""What stores of centroids and residual bits take and find: bytes on disk, overlap, time to encode and to search.

    python -m benchmarks.runs.residuals hotpotqa scifact
    python -m benchmarks.runs.residuals hotpotqa --seen 0.05 0.1 0.25 0.5 --stores residual1

Overlap is with the exact top 10 of float32 vectors. With `--seen`, the codebook is trained on the first documents, in
random order, and the others are added later. Times are of CPU; kernels and stores take turns, and the fastest round
of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from time import process_time, thread_time

import numpy as np

import maxsieve as ms
from benchmarks.vectors.shapes import F32, REAL, Shape, load
from maxsieve import _core
from maxsieve.errors import StoreWarning

STORES = ("residual1", "residual2", "residual4", "int8")
K = 10


def build(documents: list[F32], store: str, seen: float, folder: Path) -> tuple[ms.Index, float]:
    """An index on disk, and the tokens that a second of CPU encodes once there is a codebook."""
    first = max(1, int(seen * len(documents)))
    index = ms.Index.build(documents[:first], path=folder, store=store)
    if first == len(documents):
        return index, 0.0
    started, before = process_time(), index.tokens
    index.add(documents[first:], range(first, len(documents)))
    return index, (index.tokens - before) / (process_time() - started)


def on_disk(folder: Path, tokens: int) -> str:
    """Bytes a token of all files, and by their kind."""
    sizes: dict[str, int] = {}
    for path in folder.iterdir():
        sizes[path.suffix.lstrip(".") or "lock"] = sizes.get(path.suffix.lstrip("."), 0) + path.stat().st_size
    parts = ", ".join(f"{kind} {size / tokens:.2f}" for kind, size in sizes.items() if size > tokens / 100)
    return f"{sum(sizes.values()) / tokens:.2f} bytes a token ({parts})"


def overlaps(index: ms.Index, queries: list[F32], truth: list[set[object]]) -> str:
    """The mean overlap with the true hits, and twice its standard error."""
    found = [len({*hits.ids} & best) / K for hits, best in zip(index.search_many(queries, K), truth, strict=True)]
    return f"overlap {np.mean(found):.4f} +- {2 * np.std(found) / len(found) ** 0.5:.4f}"


def times(indexes: dict[str, ms.Index], queries: list[F32], rounds: int) -> None:
    """A line for each kernel: nanoseconds a token of `Certified` for each store, and times as fast as int8."""
    for isa in ms.isas():
        _core.use_isa(isa)
        fastest = dict.fromkeys(indexes, np.inf)
        for _ in range(rounds):
            for store, index in indexes.items():
                started = thread_time()
                for query in queries:
                    index.search(query, K, threads=1)
                fastest[store] = min(fastest[store], (thread_time() - started) / len(queries) / index.tokens)
        _core.use_isa("")
        base = fastest.get("int8", np.nan)
        each = (f"{store} {1e9 * spent:.1f} ({base / spent:.2f})" for store, spent in fastest.items())
        print(f"  {isa}: ns a token (times as fast as int8): " + ", ".join(each), flush=True)


def measure(shape: Shape, options: argparse.Namespace) -> None:
    """Prints everything about one shape."""
    order = np.random.default_rng(0).permutation(len(shape.lengths))
    documents = [shape.documents[i] for i in order]
    with ms.Index.build(documents) as exact:
        truth: list[set[object]] = [{*hits.ids} for hits in exact.search_many(shape.queries, K)]
    print(f"{shape}: {len(documents):,} documents, {len(shape.rows):,} tokens", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for seen in options.seen:
            indexes: dict[str, ms.Index] = {}
            for store in options.stores:
                folder = Path(scratch, f"{store}-{seen}")
                index, rate = build(documents, store, seen, folder)
                facts = [on_disk(folder, index.tokens), overlaps(index, shape.queries, truth)]
                if (book := index.storage.snapshot.codebook) is not None and book.bits:
                    drift = book.drift(index.storage.snapshot.here.segments)
                    facts.append(f"{book.centroids:,} centroids, residuals {drift:.2f} times as large")
                facts += [f"{rate:,.0f} tokens encoded a second of CPU"] if rate else []
                print(f"  trained on {seen:.0%}, {store}: {'; '.join(facts)}", flush=True)
                indexes[store] = index
            if options.rounds:
                times(indexes, shape.queries[: options.timed], options.rounds)
            for index in indexes.values():
                index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="+", choices=REAL)
    parser.add_argument("--stores", nargs="+", default=STORES, choices=STORES)
    parser.add_argument("--seen", type=float, nargs="+", default=[1.0], help="share of the documents to train on")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--timed", type=int, default=20, help="queries that are timed")
    parser.add_argument("--rounds", type=int, default=3, help="0: no times")
    options = parser.parse_args()
    warnings.simplefilter("ignore", StoreWarning)
    for name in options.shape:
        measure(load(name, options.queries, lambda documents, _: documents), options)


if __name__ == "__main__":
    main()

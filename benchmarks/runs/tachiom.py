"""TACHIOM beside maxsieve, on the same real vectors: time, p95 and overlap for some settings of each.

    python -m benchmarks.runs.tachiom vectors FOLDER hotpotqa
    python -m benchmarks.runs.tachiom maxsieve FOLDER
    python benchmarks/runs/tachiom.py tachiom FOLDER

TACHIOM's wheel needs glibc 2.39 (Debian 13, Ubuntu 24.04), so its step needs only NumPy and `tachiom`, and may run in
another system on the same machine. It clusters the vectors of each word apart, so it is given the words. Each search
has one thread. CPU time counts, because it means the same on a busy machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

K, QUERIES, TURNS = 10, 100, 3
SETTINGS: dict[str, dict[str, Any]] = {
    "c5 ef10 d50": {"k_centroids": 5, "ef_search": 10, "k_docs_to_score": 50},
    "LoTTE: d200, alpha 0.4": {"k_docs_to_score": 200, "alpha": 0.4},
    "default: c20 ef30 d500": {},
    "c80 ef120 d1000": {"k_centroids": 80, "ef_search": 120, "k_docs_to_score": 1000},
}
"""Fewer and more centroids, candidates of its graph, and documents that are scored, than by default."""


def save_vectors(folder: Path, name: str) -> None:
    """Vectors, a number for the word of each token, queries, queries to calibrate on, and the true top K."""
    import maxsieve as ms
    from benchmarks.vectors import shapes
    from maxsieve.lab.dataset import Dataset

    shape = shapes.load(name, QUERIES, lambda documents, _: documents)
    dataset = Dataset.of(shapes.corpora() / shapes.REAL[name])
    texts, encoder = dataset.texts("words").documents, dataset.loaded_encoder
    numbers: dict[str, int] = {}
    words: list[int] = []
    for document in shapes.collection(shapes.REAL[name]).ids[: len(shape.lengths)]:
        text = texts[document]
        spans = encoder.document_spans(text)
        words += [numbers.setdefault(text[start:end].lower(), len(numbers)) for start, end in spans]
    if len(words) != shape.tokens:
        raise ValueError(f"{len(words):,} words for {shape.tokens:,} tokens")
    index = ms.Index.build(shape.rows, lengths=shape.lengths)
    truth = np.array([index.search(query, K).ids for query in shape.queries])
    folder.mkdir(parents=True, exist_ok=True)
    asked = {"queries": shape.queries, "practice": shape.practice}
    for part, some in asked.items():
        np.savez(folder / f"{part}.npz", rows=np.concatenate(some), lengths=np.array([len(rows) for rows in some]))
    for part, array in (
        ("rows", shape.rows),
        ("lengths", shape.lengths),
        ("words", np.array(words, np.uint32)),
        ("truth", truth),
    ):
        np.save(folder / f"{part}.npy", array)
    print(f"{name}: {shape}; {len(numbers):,} words")


def queries_in(path: Path) -> list[Any]:
    """The queries in a file."""
    held = np.load(path)
    return [np.ascontiguousarray(rows) for rows in np.split(held["rows"], np.cumsum(held["lengths"])[:-1])]


def measure(folder: Path, name: str, search: Callable[[Any], Any]) -> None:
    """Prints a row of a table: the least time of each query counts."""
    queries, truth = queries_in(folder / "queries.npz"), np.load(folder / "truth.npy")
    seconds = np.full(len(queries), np.inf)
    found: list[Any] = []
    for _ in range(TURNS):
        found.clear()
        for number, query in enumerate(queries):
            started = process_time()
            found.append(search(query))
            seconds[number] = min(seconds[number], process_time() - started)
    overlap = np.mean([len({*map(int, ids)} & {*best}) / K for ids, best in zip(found, truth.tolist(), strict=True)])
    times = f"{1e3 * np.median(seconds):.3g} | {1e3 * np.quantile(seconds, 0.95):.3g}"
    print(f"| {name} | {times} | {overlap:.3f} |", flush=True)


def run_maxsieve(folder: Path) -> None:
    """Some policies, calibrated on queries that are not timed."""
    import maxsieve as ms

    index = ms.Index.build(np.load(folder / "rows.npy"), lengths=np.load(folder / "lengths.npy"))
    index.calibrate(queries_in(folder / "practice.npz"), K)
    for overlap in (0.9, 0.95, 0.99):
        policy = ms.Calibrated(overlap)
        name = f"maxsieve `Calibrated({overlap:.2f})`"
        measure(folder, name, lambda query, policy=policy: index.search(query, K, policy=policy, threads=1).ids)
    measure(folder, "maxsieve `Certified`", lambda query: index.search(query, K, threads=1).ids)


def run_tachiom(folder: Path) -> None:
    """Its own defaults for the index, and several settings for the search."""
    from tachiom import Tachiom

    rows = np.load(folder / "rows.npy").astype(np.float16).view(np.uint16)
    lengths = np.load(folder / "lengths.npy").astype(np.int32)
    started, used = perf_counter(), process_time()
    index = Tachiom.build_from_arrays(rows, np.load(folder / "words.npy"), lengths)
    spent = f"{perf_counter() - started:.0f} s, {process_time() - used:.0f} s of CPU"
    print(f"index of {index.n_tokens:,} tokens, {index.n_centroids:,} centroids: {spent}", file=sys.stderr)
    for name, how in SETTINGS.items():
        measure(folder, f"TACHIOM, {name}", lambda query, how=how: index.search(query, K, **how)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["vectors", "maxsieve", "tachiom"])
    parser.add_argument("folder", type=Path, help="where the vectors are")
    parser.add_argument("shape", nargs="?", default="hotpotqa", help="a test collection (hotpotqa)")
    options = parser.parse_args()
    if options.step == "vectors":
        save_vectors(options.folder, options.shape)
        return
    print("| K = 10, one thread | CPU ms | p95 | overlap |\n|---|---:|---:|---:|")
    (run_maxsieve if options.step == "maxsieve" else run_tachiom)(options.folder)


if __name__ == "__main__":
    main()

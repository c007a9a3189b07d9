"""Measures indexes on disk: size, build rate, time to open, latency of changes, resident memory, search against memory.

    python -m benchmarks.runs.storage --documents 20000 --many 100000 1000000

Everything is written to a temporary folder and removed. Times are medians; compare figures of one run only.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import maxsieve as ms
from benchmarks.runs.arguments import corpus_folder, positive
from benchmarks.runs.machine import forget
from benchmarks.vectors import real
from benchmarks.vectors.structured import Structured

F32 = npt.NDArray[np.float32]


def median_ms(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times)


def resident_bytes(folder: Path) -> dict[str, int]:
    """Bytes of the folder's mapped files that are in memory now, by suffix."""
    resident: dict[str, int] = {}
    suffix = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line[:1] in "0123456789abcdef" and "-" in line.split(" ", 1)[0]:
            path = line.split(maxsplit=5)[5] if len(line.split(maxsplit=5)) == 6 else ""
            suffix = Path(path).suffix if path.startswith(str(folder)) else ""
        elif suffix and line.startswith("Rss:"):
            resident[suffix] = resident.get(suffix, 0) + 1024 * int(line.split()[1])
    return resident


def one_corpus(table: Table, folder: Path, documents: list[F32], queries: list[F32]) -> None:
    """A corpus of ordinary size: bytes, build, changes, and searching it mapped and in memory."""
    tokens = sum(map(len, documents))
    for store in ("float32", "float16"):
        path = folder / store
        started = time.perf_counter()
        index = ms.Index.build(documents, path=path, store=store)
        seconds = time.perf_counter() - started
        size = sum(file.stat().st_size for file in path.iterdir())
        table.add_row(f"bytes a token on disk, store={store}", f"{size / tokens:.0f}")
        table.add_row(f"build to disk, store={store}, tokens/s", f"{tokens / seconds:,.0f}")
        index.close()

    path = folder / "float32"
    started = time.perf_counter()
    memory = ms.Index.build(documents)
    table.add_row("build in memory, tokens/s", f"{tokens / (time.perf_counter() - started):,.0f}")
    mapped = ms.Index.open(path)
    some = queries[:20]
    for index in (mapped, memory):
        index.search_many(some, 10)
    ratios = []
    for query in some * 3:
        on_disk, in_memory = (median_ms(partial(index.search, query, 10, threads=1), 3) for index in (mapped, memory))
        ratios.append(on_disk / in_memory)
    table.add_row("search, mapped over in memory (median of pairs)", f"{statistics.median(ratios):.3f}")
    mapped.close()

    forget(path)
    mapped = ms.Index.open(path)
    for query in queries:
        mapped.search(query, 10)
    resident = resident_bytes(path).get(".segment", 0)
    table.add_row(f"resident bytes a token after {len(queries)} searches", f"{resident / tokens:.0f}")

    fresh = iter(range(10**9))
    table.add_row(
        "add one document, ms", f"{median_ms(lambda: mapped.add(documents[:1], [10**6 + next(fresh)]), 20):.1f}"
    )
    removed = iter(mapped.ids)
    table.add_row("delete one document, ms", f"{median_ms(lambda: mapped.delete([next(removed)]), 20):.1f}")
    table.add_row("compact after that, ms", f"{median_ms(mapped.compact, 1):.0f}")


def many_documents(table: Table, folder: Path, count: int) -> None:
    """Many small documents, for costs that depend on their number: opening, and finding candidates by id."""
    path = folder / f"many-{count}"
    rows = np.random.default_rng(0).standard_normal((4 * count, 16)).astype(np.float32)
    ms.Index.build(rows, [f"document-{i}" for i in range(count)], lengths=np.full(count, 4), path=path).close()
    table.add_row(f"open, {count:,} documents, ms", f"{median_ms(lambda: ms.Index.open(path), 5):.1f}")
    query = rows[:8]
    some = [f"document-{i}" for i in range(0, count, count // 10)]
    mask = np.ones(count, np.bool_)

    def first_search(**choice: object) -> None:
        ms.Index.open(path).search(query, 5, **choice)

    table.add_row(
        f"open and search 10 ids of {count:,}, ms", f"{median_ms(lambda: first_search(candidates=some), 5):.1f}"
    )
    everything = [f"document-{i}" for i in range(count)]
    table.add_row(
        f"open and search {count:,} ids, ms", f"{median_ms(lambda: first_search(candidates=everything), 3):.0f}"
    )
    table.add_row(
        f"open and search a mask of {count:,}, ms", f"{median_ms(lambda: first_search(candidates=mask), 3):.0f}"
    )


def vectors(arguments: argparse.Namespace) -> tuple[list[F32], list[F32]]:
    """Documents and 100 queries: of a real corpus, or structured random ones."""
    if arguments.corpus is not None:
        loaded = real.load(arguments.corpus)
        return loaded.documents, loaded.queries[:100]
    corpus = Structured(arguments.documents)
    return list(corpus.documents()), [corpus.query(number) for number in range(100)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=positive, default=5000, help="of about 120 tokens, d = 128")
    parser.add_argument(
        "--corpus", type=corpus_folder, help="a folder in BEIR form, in place of structured random vectors"
    )
    parser.add_argument("--many", type=positive, nargs="*", default=[100_000, 1_000_000], help="of 4 tokens, d = 16")
    arguments = parser.parse_args()
    table = Table("what", "figure")
    with tempfile.TemporaryDirectory() as folder:
        one_corpus(table, Path(folder), *vectors(arguments))
        for count in arguments.many:
            many_documents(table, Path(folder), count)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()

"""Times the policies on structured random vectors, side by side in one run, each answer checked against exhaustive.

    python benchmarks/bench.py --shape rerank --isa avx2 scalar --k 5 100

Milliseconds are medians over the queries; compare rows of one run only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import maxsieve as ms
from maxsieve import _core
from structured import Structured

SHAPES = {
    "tiny": Structured(size=200, mean_length=60),
    "rerank": Structured(size=1000, mean_length=180),
    "pages": Structured(size=2000, mean_length=729),
    "corpus": Structured(size=10_000, mean_length=120),
}
POLICIES = {
    "certified": ms.Certified(),
    "bandit 0.1": ms.Bandit(alpha=0.1),
    "bandit 0.2": ms.Bandit(alpha=0.2),
    "bandit 0.3": ms.Bandit(alpha=0.3),
    "bandit 1": ms.Bandit(alpha=1),
    "exhaustive": ms.Exhaustive(),
}


@dataclass(frozen=True)
class Row:
    """One method on one shape."""

    shape: str
    isa: str
    threads: int
    k: int
    policy: str
    milliseconds: float
    ns_per_token: float
    times_exhaustive: float
    overlap: float
    exact_sets: float
    coverage: float
    rescored: float


def measure(shape: str, index: ms.Index, arguments: argparse.Namespace) -> Iterator[Row]:
    queries = [SHAPES[shape].query(number, arguments.tokens) for number in range(arguments.queries)]
    for isa in arguments.isa:
        _core.use_isa(isa)
        for threads in arguments.threads:
            for k in arguments.k:
                answers = {
                    name: [index.search(q, k, policy=p, threads=threads) for q in queries]
                    for name, p in POLICIES.items()
                }
                median = {name: statistics.median(h.report.seconds for h in hits) for name, hits in answers.items()}
                for name, hits in answers.items():
                    pairs = list(zip(hits, answers["exhaustive"], strict=True))
                    yield Row(
                        shape,
                        isa,
                        threads,
                        k,
                        name,
                        milliseconds=1e3 * median[name],
                        ns_per_token=1e9 * median[name] / index.tokens,
                        times_exhaustive=median["exhaustive"] / median[name],
                        overlap=statistics.mean(len({*a.ids} & {*b.ids}) / len(b) for a, b in pairs),
                        exact_sets=statistics.mean({*a.ids} == {*b.ids} for a, b in pairs),
                        coverage=statistics.mean(h.report.coverage for h in hits),
                        rescored=statistics.mean(h.report.rescored for h in hits),
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=["rerank", "pages"])
    parser.add_argument("--isa", nargs="+", choices=ms.isas(), default=[ms.isa()])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--k", nargs="+", type=int, default=[5, 100])
    parser.add_argument("--tokens", type=int, default=32, help="query tokens")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="the tiny shape only")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()

    rows: list[Row] = []
    for shape in ["tiny"] if arguments.quick else arguments.shape:
        started = time.perf_counter()
        documents = track(SHAPES[shape].documents(), f"indexing {shape}", SHAPES[shape].size)
        index = ms.Index.build(documents)
        seconds = time.perf_counter() - started
        print(f"{shape}: {index!r}, {index.nbytes / index.tokens:.0f} bytes a token, {seconds:.1f} s")
        rows += measure(shape, index, arguments)

    table = Table(*Row.__dataclass_fields__)
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in asdict(row).values()))
    Console(width=150).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()

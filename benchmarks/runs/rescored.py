"""How many documents `Certified` rescores on real token vectors, after checking every answer against `Exhaustive`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

import maxsieve as ms
from benchmarks.runs.arguments import corpus_folder, positive
from benchmarks.vectors import real
from benchmarks.vectors.minilm import F32
from maxsieve.policies import Policy

EXAMPLE = """\
example:
  MAXSIEVE_CORPORA=path/to/corpora python -m benchmarks.runs.rescored --documents 500 --queries 50 --k 5 10

The first run on a collection embeds it, which takes minutes for thousands of documents; later ones find the vectors in
the cache (MAXSIEVE_CACHE, or ~/.cache/maxsieve). The exit status is 1 if any answer of Certified differs from that of
Exhaustive: in an id, in the order or in a bit of a score.
"""


def main() -> int:
    options = parse()
    vectors = real.load(options.corpus, dim=options.dim, documents=options.documents, queries=options.queries)
    started = perf_counter()
    index = ms.Index.build(vectors.doc_rows, vectors.doc_ids, lengths=vectors.doc_lengths, progress=True)
    tokens = np.mean([len(query) for query in vectors.queries])
    print(
        f"{options.corpus.name}: {len(index):,} documents, {index.tokens:,} tokens, d = {index.dim}, built in "
        f"{perf_counter() - started:.1f} s; {len(vectors.queries)} queries of {tokens:.1f} tokens; kernel {ms.isa()}"
    )

    depths = sorted(set(options.k))
    rescored = np.zeros((len(depths), len(vectors.queries)), np.int64)
    seconds = np.zeros((len(depths) + 1, len(vectors.queries)))
    different = []
    for number in track(range(len(vectors.queries)), "searching", console=Console(stderr=True), transient=True):
        query = vectors.queries[number]
        # One exhaustive answer is used for all K: the K best are its first K.
        truth, seconds[-1, number] = timed(index, query, depths[-1], ms.Exhaustive())
        for row, k in enumerate(depths):
            hits, seconds[row, number] = timed(index, query, k, ms.Certified())
            rescored[row, number] = hits.report.rescored
            if not same(hits, truth, k):
                different.append(f"query {vectors.query_ids[number]}, K = {k}")

    print_table(depths, rescored, seconds * 1e3, len(index))
    answers = rescored.size
    if different:
        print(f"{len(different)} of {answers} answers DIFFER from exhaustive scoring: {'; '.join(different[:10])}")
        return 1
    print(f"All {answers} certified answers equal exhaustive scoring: ids, order and score bits.")
    return 0


def timed(index: ms.Index, query: F32, k: int, policy: Policy) -> tuple[ms.Hits, float]:
    started = perf_counter()
    hits = index.search(query, k, policy=policy)
    return hits, perf_counter() - started


def same(hits: ms.Hits, truth: ms.Hits, k: int) -> bool:
    return (
        hits.report.guarantee == "exact"
        and hits.ids == truth.ids[:k]
        and hits.scores.tobytes() == truth.scores[:k].tobytes()
    )


def print_table(
    depths: list[int], rescored: npt.NDArray[np.int64], milliseconds: npt.NDArray[np.float64], documents: int
) -> None:
    print(f"{'':>5} | {'rescored documents':^36} | {'ms per query':^21}")
    print(f"{'K':>5} | {'mean':>8} {'median':>8} {'max':>7} {'share':>10} | {'certified':>9}  {'exhaustive':>10}")
    for row, k in enumerate(depths):
        mean, median, most = rescored[row].mean(), np.median(rescored[row]), rescored[row].max()
        print(
            f"{k:>5} | {mean:>8.1f} {median:>8g} {most:>7} {mean / documents:>10.2%} | "
            f"{milliseconds[row].mean():>9.1f}  {milliseconds[-1].mean():>10.1f}"
        )


def parse() -> argparse.Namespace:
    corpora = os.environ.get("MAXSIEVE_CORPORA")
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus",
        type=corpus_folder,
        default=str(Path(corpora, "scifact")) if corpora else None,
        help="folder in BEIR form (default: scifact in the folder MAXSIEVE_CORPORA)",
    )
    parser.add_argument("--dim", type=positive, default=128, help="dimensions to reduce to, at most 384 (default: 128)")
    parser.add_argument("--queries", type=positive, metavar="N", help="only the first N queries")
    parser.add_argument("--documents", type=positive, metavar="N", help="only N documents, relevant ones among them")
    parser.add_argument("--k", type=positive, nargs="+", default=[5, 10, 100], help="depths (default: 5 10 100)")
    options = parser.parse_args()
    if options.corpus is None:
        parser.error("which collection? Set MAXSIEVE_CORPORA or give --corpus")
    return options


if __name__ == "__main__":
    sys.exit(main())

"""Compares adapters with the scorers of the libraries they are for, on the same real vectors, in one run.

`make adapters-bench` runs this three times: to take token vectors of a real collection from the cache (`vectors`), and
to measure in each environment that has some of the libraries (`measure`).
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

import numpy as np

QUERY_TOKENS = 32
SIZES = 100, 1000
QUERIES = 5
REST = 0.1
"""Seconds before each run: torch's threads spin for a while after their work, and would slow down the next method."""
CLOCKS = {"wall": perf_counter, "cpu": process_time}
"""On a busy machine CPU time says more than wall-clock time, though some libraries wait by spinning."""


class Call(NamedTuple):
    """What a user calls: their function, ours, and `Index.search` for as many hits on an existing index."""

    name: str
    theirs: Callable[[int], Any] | None
    ours: Callable[[int], Any]
    search: Callable[[int], Any]
    scores: Callable[[Any], Any]
    """The scores of an answer, in the order of the documents."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["vectors", "measure"])
    parser.add_argument("file", type=Path, help="where the vectors are")
    parser.add_argument("--rounds", type=int, default=15, help="how often each call is timed (15)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    if options.step == "vectors":
        save_vectors(options.file)
        return 0
    held = np.load(options.file)
    ends = np.cumsum(held["lengths"])
    documents = np.split(held["rows"], ends[:-1])
    for size in SIZES:
        for call in calls(documents[:size], list(held["queries"])):
            print(measure(call, size, options.rounds, CLOCKS[options.clock]), flush=True)
    return 0


def save_vectors(path: Path) -> None:
    """The first documents of SciFact, and queries of 32 tokens: tokens of real queries, end to end."""
    from benchmarks.vectors import shapes

    shape = shapes.load("scifact", 10 * QUERIES, lambda documents, count: documents)
    tokens = np.concatenate(shape.queries)[: QUERIES * QUERY_TOKENS].reshape(QUERIES, QUERY_TOKENS, -1)
    count = SIZES[-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = shape.rows[: int(shape.lengths[:count].sum())]
    np.savez(path, rows=rows, lengths=shape.lengths[:count], queries=tokens)
    print(
        f"SciFact, {count:,} documents, {len(rows):,} tokens, d = {rows.shape[1]}, T = {QUERY_TOKENS}", file=sys.stderr
    )
    print("| call | documents | theirs, ms | ours, ms | largest difference | `Index.search`, ms | ours by it |")
    print("|---|---|---|---|---|---|---|")


def calls(documents: list[Any], queries: list[Any]) -> Iterator[Call]:
    """The libraries that are installed."""
    import torch

    import maxsieve as ms

    index = ms.Index.build(documents)
    size = len(documents)
    docs, asked = [torch.from_numpy(one) for one in documents], [torch.from_numpy(one) for one in queries]

    def all_of_them(i: int) -> Any:
        return index.search(queries[i], size)

    if importlib.util.find_spec("pylate") is not None:
        from pylate import rank

        from maxsieve.adapters.pylate import Maxsieve, rerank

        ids = [list(range(size))]
        yield Call(
            "PyLate `rank.rerank`",
            lambda i: rank.rerank(ids, [asked[i]], [docs]),
            lambda i: rerank(ids, [asked[i]], [docs]),
            all_of_them,
            lambda found: [hit["score"] for hit in sorted(found[0], key=lambda hit: hit["id"])],
        )
        folder = tempfile.TemporaryDirectory()
        kept = Maxsieve(folder.name).add_documents(range(size), docs)
        yield Call(
            "PyLate index, `subset=`, k = 10",
            None,
            lambda i: kept([asked[i]], k=10, subset=ids[0]),
            lambda i: kept.index.search(queries[i], 10, candidates=ids[0]),
            lambda found: found,
        )
        folder.cleanup()
        return
    from sentence_transformers import util

    from maxsieve.adapters.sentence_transformers import maxsim, semantic_search

    yield Call(
        "Sentence Transformers `maxsim`",
        lambda i: util.maxsim([asked[i]], docs),
        lambda i: maxsim([asked[i]], docs),
        all_of_them,
        lambda found: found[0].tolist(),
    )
    yield Call(
        "`semantic_search` of an index, k = 10",
        None,
        lambda i: semantic_search([asked[i]], index),
        lambda i: index.search(queries[i], 10),
        lambda found: found,
    )
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    from maxsieve.adapters.colpali import MaxsieveScoring

    for dtype in (torch.float32, torch.bfloat16):
        pages, questions = [one.to(dtype) for one in docs], [one.to(dtype) for one in asked]
        yield Call(
            f"colpali-engine `score_multi_vector`, {str(dtype).removeprefix('torch.')}",
            lambda i, q=questions, p=pages: BaseVisualRetrieverProcessor.score_multi_vector([q[i]], p, device="cpu"),
            lambda i, q=questions, p=pages: MaxsieveScoring.score_multi_vector([q[i]], p),
            all_of_them,
            lambda found: found[0].tolist(),
        )


def measure(call: Call, size: int, rounds: int, clock: Callable[[], float]) -> str:
    """A row of the table: medians of interleaved runs, and of their ratios."""
    runs = {"ours": call.ours, "search": call.search} | ({"theirs": call.theirs} if call.theirs else {})
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    apart = 0.0
    for i in range(QUERIES):
        answers = {name: run(i) for name, run in runs.items()}
        if call.theirs:
            ours, theirs = (np.array(call.scores(answers[name])) for name in ("ours", "theirs"))
            apart = max(apart, float(np.abs(ours - theirs).max()))
    for number in range(rounds):
        for name, run in runs.items():
            sleep(REST)
            started = clock()
            run(number % QUERIES)
            seconds[name].append(clock() - started)
    middle = {name: f"{1e3 * statistics.median(taken):.1f}" for name, taken in seconds.items()}
    ratio = statistics.median(a / b for a, b in zip(seconds["ours"], seconds["search"], strict=True))
    theirs = [middle["theirs"], middle["ours"], f"{apart:.1g}"] if call.theirs else ["", middle["ours"], ""]
    return f"| {' | '.join([call.name, f'{size:,}', *theirs, middle['search'], f'{ratio:.2f}'])} |"


if __name__ == "__main__":
    import os

    if importlib.util.find_spec("torchvision") is not None and os.environ.get("MAXSIEVE_ADAPTERS") == "together":
        sys.path.append(str(Path(__file__).parents[2] / "tests" / "adapters"))
        import torchvision_operators  # noqa: F401 - before anything imports torchvision
    sys.exit(main())

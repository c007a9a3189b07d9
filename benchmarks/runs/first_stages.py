"""What a first stage costs: which share of the true top K is among the candidates that it names.

    MAXSIEVE_CORPORA=path/to/corpora python -m benchmarks.runs.first_stages --documents 1500

fast-plaid, MUVERA (fastembed, muvera-python) and BM25 (bm25s) each name candidates for a query, and maxsieve finds the
best K of those exactly. Documents that are not named can't be found: the overlap with the top K of all documents is
that loss, and no other. Calibrated, which needs no first stage, stands beside them. One thread throughout. Run it where
fastembed, muvera-python and bm25s are (`make first-stages`); fast-plaid has an environment of its own.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.peers import one_thread  # noqa: F401 - before anything that starts threads

# isort: split
import numpy as np
import numpy.typing as npt

import maxsieve as ms
from benchmarks.peers import fast_plaid
from benchmarks.runs.arguments import positive
from benchmarks.vectors.shapes import Shape
from maxsieve.common.machine import cpu
from maxsieve.lab.dataset import Dataset

F32 = npt.NDArray[np.float32]


class Corpus(NamedTuple):
    """Documents and queries, as vectors and as texts."""

    documents: list[F32]
    texts: list[str]
    queries: list[F32]
    questions: list[str]
    practice: list[F32]
    """More queries, to calibrate on."""


class Stage(NamedTuple):
    """A first stage with its documents; ``name(query, depth)`` returns positions, best first."""

    what: str
    seconds: float
    name: Callable[[int, int], list[int]]


def main() -> None:
    options = parse()
    corpus = read(options)
    index = ms.Index.build(corpus.documents)
    print(f"{options.corpus}, {len(corpus.documents):,} documents, {index.tokens:,} tokens, d = {index.dim}; ", end="")
    print(f"{len(corpus.queries)} queries; K = {options.k}; {cpu()}, {ms.isa()}\n", flush=True)
    truth = [set(index.search(query, options.k, threads=1).ids) for query in corpus.queries]
    depths = [min(depth, len(index)) for depth in sorted(options.depths) if depth >= options.k]
    heads = [f"overlap of {depth}" for depth in depths]
    print("| first stage | taken in, s | its ms | maxsieve's ms |", " | ".join(heads), "|")
    print("|---|---|---|---|" + "---|" * len(depths))
    for stage in stages(corpus, options.stages):
        cells = [stage.what, f"{stage.seconds:.1f}", *measured(stage, corpus, index, truth, depths)]
        print(f"| {' | '.join(cells)} |", flush=True)
    index.calibrate(corpus.practice, k=options.k)
    for policy in (ms.Calibrated(overlap=0.99), ms.Certified()):
        started = perf_counter()
        found = [index.search(query, options.k, policy=policy, threads=1).ids for query in corpus.queries]
        took = (perf_counter() - started) / len(found) * 1e3
        share = np.mean([len(true & {*some}) / len(true) for true, some in zip(truth, found, strict=True)])
        print(f"| none: `{type(policy).__name__}` on all | - | - | {took:.1f} |", f"{share:.3f} | " * len(depths))


def read(options: argparse.Namespace) -> Corpus:
    dataset = Dataset.of(Path(os.environ["MAXSIEVE_CORPORA"], options.corpus), progress=True)
    real, texts = dataset.embedded(), dataset.texts("BM25")
    ids = [one for one in real.index.ids if real.index.vectors(one).size][: options.documents]
    documents = [np.asarray(real.index.vectors(one), np.float32) for one in ids]
    rest = list(real.queries.items())
    asked, practice = rest[: options.queries], rest[options.queries :]
    return Corpus(
        documents,
        [texts.documents[str(one)] for one in ids],
        [rows for _, rows in asked],
        [texts.queries[one] for one, _ in asked],
        [rows for _, rows in practice],
    )


def measured(stage: Stage, corpus: Corpus, index: ms.Index, truth: list[set[object]], depths: list[int]) -> list[str]:
    """Milliseconds of the stage and of maxsieve at the middle depth, and the overlap at each."""
    asking = searching = 0.0
    overlaps = []
    for depth in depths:
        shares = []
        for place, query in enumerate(corpus.queries):
            started = perf_counter()
            candidates = stage.name(place, depth)
            named = perf_counter()
            found = index.search(query, len(truth[place]), candidates=candidates, threads=1)
            if depth == depths[len(depths) // 2]:
                asking, searching = asking + named - started, searching + perf_counter() - named
            shares.append(len(truth[place] & {*found.ids}) / len(truth[place]))
        overlaps.append(f"{np.mean(shares):.3f}")
    return [*(f"{seconds / len(corpus.queries) * 1e3:.1f}" for seconds in (asking, searching)), *overlaps]


def stages(corpus: Corpus, wanted: list[str]) -> Iterator[Stage]:
    for name, make in STAGES.items():
        if name in wanted:
            yield make(corpus)
    if FAST_PLAID not in wanted:
        return
    try:
        peer = fast_plaid.Peer()
    except FileNotFoundError as missing:
        print(f"fast-plaid is left out: {missing}")
        return
    lengths = np.array([len(rows) for rows in corpus.documents])
    started = perf_counter()
    peer.prepare(Shape("documents", np.concatenate(corpus.documents), lengths, corpus.queries))
    (method,) = peer.methods
    yield Stage(
        "fast-plaid 1.7", perf_counter() - started, lambda i, depth: method.search(corpus.queries[i], depth)[0].tolist()
    )
    peer.close()


def muvera_of_fastembed(corpus: Corpus) -> Stage:
    from fastembed.postprocess.muvera import Muvera

    muvera = Muvera(dim=corpus.documents[0].shape[1])
    started = perf_counter()
    encoded = np.stack([muvera.process_document(rows) for rows in corpus.documents]).astype(np.float32)
    seconds = perf_counter() - started

    def best(i: int, depth: int) -> list[int]:
        scores = encoded @ muvera.process_query(corpus.queries[i]).astype(np.float32)
        found: list[int] = np.argsort(-scores)[:depth].tolist()
        return found

    return Stage(f"MUVERA of fastembed, {encoded.shape[1]:,} numbers", seconds, best)


def muvera_python(corpus: Corpus) -> Stage:
    from muvera import Muvera

    muvera = Muvera(dimension=corpus.documents[0].shape[1], projection_type="ams_sketch", projection_dimension=16)
    started = perf_counter()
    encoded = muvera.encode_documents(corpus.documents)
    seconds = perf_counter() - started

    def best(i: int, depth: int) -> list[int]:
        found: list[int] = np.argsort(-(encoded @ muvera.encode_queries(corpus.queries[i]).ravel()))[:depth].tolist()
        return found

    return Stage(f"MUVERA of muvera-python, {encoded.shape[1]:,} numbers", seconds, best)


def bm25(corpus: Corpus) -> Stage:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    started = perf_counter()
    retriever = bm25s.BM25()
    words = bm25s.tokenize(corpus.texts, stopwords="en", stemmer=stemmer, show_progress=False)
    retriever.index(words, show_progress=False)
    seconds = perf_counter() - started

    def best(i: int, depth: int) -> list[int]:
        asked = bm25s.tokenize(corpus.questions[i], stopwords="en", stemmer=stemmer, show_progress=False)
        found: list[int] = retriever.retrieve(asked, k=depth, show_progress=False).documents[0].tolist()
        return found

    return Stage("BM25 of bm25s", seconds, best)


STAGES = {"fastembed": muvera_of_fastembed, "muvera-python": muvera_python, "bm25s": bm25}
FAST_PLAID = "fast-plaid"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="scifact", help="a folder in MAXSIEVE_CORPORA (default: scifact)")
    parser.add_argument("--documents", type=positive, metavar="N", help="only the first N documents")
    parser.add_argument("--queries", type=positive, default=100, help="the first so many; the others calibrate")
    parser.add_argument("--k", type=positive, default=10)
    parser.add_argument("--depths", type=positive, nargs="+", default=[20, 100, 500], help="how many candidates")
    every = [*STAGES, FAST_PLAID]
    parser.add_argument("--stages", nargs="+", choices=every, default=every, help="which of them (default: all)")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""What lists of documents by centroid cost and find: how deep they must be followed, what they read, and the time.

    python -m benchmarks.runs.lists hotpotqa scifact --centroids 65536 --groups 1024 --walk 128,8 256,16
    python -m benchmarks.runs.lists million --centroids 262144 --groups 1024
    python -m benchmarks.runs.lists hotpotqa scifact --search --queries 50 --k 10 100

The depth is what the stored ranks of all queries ask for, hence in-sample. Seconds are of CPU time in one thread.
Shapes on disk (`mid`, `million`, `three-million`) must have been made by `benchmarks/bench.py`. With `--search`, whole
calls of `Index.search` are measured instead, on queries that the index was not calibrated on; policies and `--stores`
take turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from fractions import Fraction
from math import log2
from time import perf_counter, thread_time

import numpy as np

import maxsieve as ms
from benchmarks.runs.comparison import million
from benchmarks.vectors.shapes import F32, I64, NAMES, ON_DISK, load
from maxsieve import _core, spec
from maxsieve.storage.codebook import spread_sample

BLOCK = 65536
SAMPLE = 16
"""Tokens to train on, for each centroid."""
Walk = tuple[int, int]
"""Near centroids of each query token, and groups in which they are looked for."""
TARGETS = (Fraction("0.9"), Fraction("0.95"), Fraction("0.99"))


def opened(name: str, queries: int) -> tuple[ms.Index, list[F32]]:
    """The shape as an index of codes, and its queries."""
    if name in ON_DISK:
        made = million.folder_of(name) / "made"
        held = np.load(made / "queries.npz")
        asked = np.split(held["rows"], np.cumsum(held["lengths"])[:-1])
        return ms.Index.open(made / "index"), [np.ascontiguousarray(query) for query in asked[:queries]]
    shape = load(name, queries, lambda documents, _: documents)
    return ms.Index.build(shape.rows, lengths=shape.lengths, store="int8"), shape.queries


class Lists:
    """A codebook and lists of an index, and how long they took."""

    def __init__(self, index: ms.Index, centroids: int, groups: int, probes: int, share: float, threads: int) -> None:
        held = index.storage.snapshot.segments
        started = perf_counter()
        codes, scale = sample(held, min(int(share * index.tokens), SAMPLE * centroids), share)
        made = _core.train(index.dim, codes, scale, centroids, 0, threads, groups, probes)
        trained = perf_counter()
        segments = tuple(_core.Segment(index.dim, s.offsets, None, s.codes, s.scale, s.rho, s.nu) for s in held)
        book = _core.Codebook(index.dim, *made)
        arrays = _core.make_lists(book, segments, BLOCK, probes, threads)
        self.seconds = trained - started, perf_counter() - trained
        self.bytes = sum(array.nbytes for array in arrays) / index.tokens, made[2].nbytes / index.tokens
        self.postings = len(arrays[2]) / index.tokens
        part = _core.ListPart(len(index), BLOCK, centroids, *arrays)
        self.corpus = _core.Corpus(index.dim, segments, None, _core.Lists(book, (part,), [0]))


def sample(segments: Sequence, wanted: int, share: float) -> tuple[np.ndarray, F32]:
    """Codes and scales of so many tokens, spread over the first part of the tokens."""
    starts = np.cumsum([0, *(int(one.offsets[-1]) for one in segments)])
    chosen = spread_sample(int(share * starts[-1]), wanted)
    codes, scale = [], []
    for one, start, end in zip(segments, starts[:-1], starts[1:], strict=True):
        mine = chosen[(chosen >= start) & (chosen < end)] - start
        codes.append(one.codes[mine])
        scale.append(one.scale[np.searchsorted(one.offsets, mine, side="right") - 1])
    return np.concatenate(codes), np.concatenate(scale)


def tier0_of(index: ms.Index) -> _core.Corpus:
    """The same documents with tier 0, as earlier versions of maxsieve had it, to compare with."""
    held = index.storage.snapshot.segments
    centroids = min(65536, 1 << round(3 + log2(index.tokens) / 2))
    codes, scale = sample(held, min(index.tokens, SAMPLE * centroids), 1.0)
    book = _core.Codebook(index.dim, *_core.train(index.dim, codes, scale, centroids, 0, 2))
    named = [_core.assign(book, segment.codes, 2) for segment in held]
    segments = tuple(
        _core.Segment(index.dim, s.offsets, None, s.codes, s.scale, s.rho, s.nu, names)
        for s, names in zip(held, named, strict=True)
    )
    return _core.Corpus(index.dim, segments, book)


def ranks_of(corpus: _core.Corpus, query: F32, everyone: I64, best: I64, walk: Walk | None) -> I64:
    ascending = np.argsort(best)
    ranks = np.empty_like(best)
    ranks[ascending] = _core.ranks(corpus, query, everyone, best[ascending], 1, walk)
    return ranks


def describe(rank: int) -> str:
    return "all" if rank == spec.INFINITE else f"{rank:,}"


def report(index: ms.Index, queries: list[F32], corpus: _core.Corpus, truth: I64, walk: Walk | None, k: int) -> None:
    """One line for a walk, or for tier 0: what is read, the depth at three targets, the time at the last of them."""
    everyone = np.arange(len(index))
    ranks = np.array([ranks_of(corpus, q, everyone, t, walk) for q, t in zip(queries, truth, strict=True)])
    depths = [spec.depth(ranks, k, target) for target in TARGETS]
    policy = _core.Calibrated(min(depths[-1], len(index)), index.tokens / len(index), walk)
    candidates, seconds, postings, centroids, overlap = _core.Candidates(everyone), [], 0, 0, 0.0
    stages: dict[str, list[float]] = {}
    for _ in range(3):  # all queries in turn: no query finds what it has just read in a cache
        for query, best in zip(queries, truth, strict=True):
            started = thread_time()
            (answer,) = _core.search(corpus, [query], [candidates], k, policy, 1, False)
            seconds.append(thread_time() - started)
            for stage, spent in answer.stages.items():
                stages.setdefault(stage, []).append(spent)
            postings += answer.counts.get("postings", 0)
            centroids += answer.counts.get("centroids", 0)
            overlap += len({*answer.positions} & {*best[:k].tolist()}) / k
    asked = len(seconds)
    print(
        f"  {f'walk {walk[0]}, {walk[1]}' if walk else 'tier 0'}, K = {k}: {postings / asked:,.0f} postings "
        f"({postings / asked / index.tokens:.2%} of the tokens), {centroids / asked:,.0f} centroids; depth "
        f"{' / '.join(map(describe, depths))}; {1e3 * statistics.median(seconds):.3f} ms, "
        f"p95 {1e3 * float(np.quantile(seconds, 0.95)):.3f}, overlap {overlap / asked:.4f}; "
        + ", ".join(f"{stage} {1e3 * statistics.median(spent):.3f}" for stage, spent in stages.items()),
        flush=True,
    )


def measure_search(name: str, queries: int, ks: Sequence[int], stores: Sequence[str]) -> None:
    """A line for each K, policy and store: the time of `Index.search`, and what it finds of that store's hits."""
    shape = load(name, queries, lambda documents, _: documents)
    indexes = {store: ms.Index.build(shape.rows, lengths=shape.lengths, store=store) for store in stores}
    for index in indexes.values():
        index.calibrate(shape.practice, max(ks))
    print(f"{shape}: {len(shape.queries)} queries, calibrated on {len(shape.practice)} others", flush=True)
    policies = (ms.Certified(), ms.Calibrated(0.9), ms.Calibrated(0.99))
    for k in ks:
        turns = [(policy, store) for policy in policies for store in stores]
        truth = {
            store: [{*hits.ids} for hits in index.search_many(shape.queries, k)] for store, index in indexes.items()
        }
        seconds: dict[object, list[float]] = {turn: [] for turn in turns}
        overlaps: dict[object, list[float]] = {turn: [] for turn in turns}
        survivors: dict[object, int] = {}
        for _ in range(3):
            for number, query in enumerate(shape.queries):
                for policy, store in turns:
                    started = thread_time()
                    hits = indexes[store].search(query, k, policy=policy, threads=1)
                    seconds[policy, store].append(thread_time() - started)
                    overlaps[policy, store].append(len({*hits.ids} & truth[store][number]) / k)
                    survivors[policy, store] = hits.report.survivors
        for policy, store in turns:
            own, exact = seconds[policy, store], statistics.median(seconds[policies[0], store])
            median = statistics.median(own)
            print(
                f"  K = {k}, {policy}, {store}: {1e3 * median:.3f} ms, p95 {1e3 * float(np.quantile(own, 0.95)):.3f}, "
                f"{exact / median:.1f} times as fast as Certified; "
                f"overlap {statistics.mean(overlaps[policy, store]):.4f}; "
                f"{survivors[policy, store]:,} documents followed up",
                flush=True,
            )
    for index in indexes.values():
        index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="+", choices=NAMES)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--centroids", type=int, nargs="+", default=[65536])
    parser.add_argument("--groups", type=int, nargs="+", default=[1024])
    parser.add_argument("--probes", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the tokens, which the codebook may see")
    parser.add_argument("--walk", nargs="+", default=["128,8"], help="near centroids, opened groups")
    parser.add_argument("--k", type=int, nargs="+", default=[10])
    parser.add_argument("--threads", type=int, default=2, help="for training and naming")
    parser.add_argument("--isa", default="")
    parser.add_argument("--tier0", action="store_true", help="measure tier 0, too")
    parser.add_argument("--search", action="store_true", help="measure Index.search, on queries held out")
    parser.add_argument("--stores", nargs="+", default=["int8"], help="of the indexes that --search measures")
    options = parser.parse_args()
    for name in options.shape:
        if options.search:
            measure_search(name, options.queries, options.k, options.stores)
            continue
        index, queries = opened(name, options.queries)
        truth = np.array([hits.ids for hits in index.search_many(queries, k=max(options.k))], np.int64)
        print(f"{name}: {len(index):,} documents, {index.tokens:,} tokens, {len(queries)} queries")
        if options.tier0:
            corpus = tier0_of(index)
            _core.use_isa(options.isa)
            for k in options.k:
                report(index, queries, corpus, truth, None, k)
            _core.use_isa("")
        for centroids, groups in zip(options.centroids, options.groups, strict=True):
            lists = Lists(index, centroids, groups, options.probes, options.share, options.threads)
            print(
                f" {centroids:,} centroids in {groups:,} groups: trained in {lists.seconds[0]:.1f} s, named and listed "
                f"in {lists.seconds[1]:.1f} s; {lists.postings:.2f} postings, {lists.bytes[0]:.2f} bytes of lists and "
                f"{lists.bytes[1]:.2f} of centroids a token",
                flush=True,
            )
            _core.use_isa(options.isa)
            for walk in options.walk:
                near, groups_opened = map(int, walk.split(","))
                for k in options.k:
                    report(index, queries, lists.corpus, truth, (near, groups_opened), k)
            _core.use_isa("")


if __name__ == "__main__":
    main()

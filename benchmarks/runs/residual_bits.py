"""What a token costs `Certified` by how it is stored: as byte codes, or as a centroid and 1, 2 or 4 bits a number.

Real vectors of one collection (its folder is below `MAXSIEVE_CORPORA`), one thread, CPU time, so that it works on a
machine with other work. Kernels and stores take turns query by query, and the fastest round counts (a mean over
queries). Queries are cut or joined to T tokens. There are as many centroids as in a store.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import thread_time

import numpy as np
from numpy.typing import NDArray

import maxsieve as ms
from benchmarks.runs.arguments import positive
from benchmarks.vectors.shapes import collection
from maxsieve import _core
from maxsieve.lab.embedded import Embedded
from maxsieve.lab.residuals import Residuals
from maxsieve.storage.codebook import store_centroids_for

F32 = NDArray[np.float32]
STORES = (8, 1, 2, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="hotpotqa_1k")
    parser.add_argument("--tokens", type=positive, nargs="+", default=[32, 18], help="tokens of a query")
    parser.add_argument("--queries", type=positive, default=8)
    parser.add_argument("--rounds", type=positive, default=9)
    parser.add_argument("--isa", nargs="+", default=[isa for isa in ms.isas() if isa != "scalar"])
    options = parser.parse_args()
    data = collection(options.corpus, 128)
    count = data.index.tokens
    made = Residuals(data, threads=2, centroids=store_centroids_for(count, data.index.dim))
    corpora = {bits: made.corpus(bits) for bits in STORES}
    print(f"{options.corpus}: {count:,} tokens, {made.centroids:,} centroids, K = 10, one thread")
    for tokens in options.tokens:
        queries = list(asked(data, tokens, options.queries))
        spent: dict[tuple[str, int], list[float]] = {(isa, bits): [] for isa in options.isa for bits in STORES}
        rescored: dict[tuple[str, int], list[int]] = {key: [] for key in spent}
        for _ in range(options.rounds):
            for key in spent:
                spent[key].append(0.0)
            for query in queries:
                for isa, bits in spent:
                    _core.use_isa(isa)
                    started = thread_time()
                    (answer,) = _core.search(corpora[bits], [query], [made.candidates], 10, _core.Certified(), 1, False)
                    spent[isa, bits][-1] += (thread_time() - started) / len(queries) / count * 1e9
                    rescored[isa, bits].append(answer.rescored)
        print(f"\n| T = {tokens}: ns a token (documents rescored) | int8 | 1 bit | 2 bits | 4 bits |")
        print("|---|---|---|---|---|")
        for isa in options.isa:
            times = {bits: min(spent[isa, bits]) for bits in STORES}
            cells = [
                f"{times[bits]:.2f}" + f", {times[8] / times[bits]:.2f} times as fast" * (bits != 8)
                + f" ({np.mean(rescored[isa, bits]):.1f})"
                for bits in STORES
            ]  # fmt: skip
            print(f"| {isa} | " + " | ".join(cells) + " |")


def asked(data: Embedded, tokens: int, count: int) -> Iterator[F32]:
    """Rotated queries of so many tokens each, made of the collection's queries."""
    rows = np.concatenate(list(data.queries.values()))
    for i in range(count):
        query = np.ascontiguousarray(rows[i * tokens : (i + 1) * tokens])
        _core.rotate(query)
        yield query


if __name__ == "__main__":
    main()

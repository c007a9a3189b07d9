"""Makes ``bits.json``, what every CPU must compute, to the bit: ``python tests/golden/make_bits.py``.

It has digests of codes, bounds, hits, reports and all of tier 0, for a table of cases. Numbers are drawn and scaled
without rounding and without NumPy's generators, so that they are the same on every machine and in every release. The
file is made again only if what is computed changes, never if only the way to compute it changes.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve import _core
from maxsieve.storage.segments import Segment
from maxsieve.storage.segments import bits as bits_of

FILE = Path(__file__).with_name("bits.json")
CENTROIDS = 32
POLICIES = {
    "certified": ms.Certified(),
    "paper": ms.Bandit(margin=0),
    "serfling": ms.Bandit(alpha=1, radius="serfling", block=7, margin=2, seed=5),
}


class Case(NamedTuple):
    """One collection and query. All random numbers depend only on these values."""

    d: int
    tokens: int
    kind: str = "plain"
    store: str = "float32"
    similarity: str = "dot"

    @property
    def name(self) -> str:
        """Its key in the file."""
        return f"d={self.d} T={self.tokens} {self.kind} {self.store} {self.similarity}"


CASES = [
    *(Case(d, tokens) for d in (1, 33, 64, 96, 128, 130, 256, 384, 768, 1024) for tokens in (4, 32)),
    *(Case(128, tokens) for tokens in (1, 2, 3, 5, 6, 7, 8, 9, 13, 16, 18, 23, 28, 31, 33, 128, 512)),
    *(Case(65, 13, kind) for kind in ("negative", "huge", "denormal", "wide", "ties")),
    *(Case(96, 11, "plain", store, similarity) for store in ("float32", "float16") for similarity in ("dot", "cosine")),
    *(Case(d, 11, "plain", "int8", similarity) for d in (40, 96) for similarity in ("dot", "cosine")),
]


def words(seed: int, count: int) -> NDArray[np.uint64]:
    """SplitMix64, as `maxsieve.spec` draws permutations from it."""
    word = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def integers(seed: int, shape: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """Signed integers of so many bits."""
    return (words(seed, int(np.prod(shape))).astype(np.int64) >> (64 - bits)).reshape(shape)


def collection(case: Case) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """A query near the tokens of the first document, and documents of different lengths, one of them long."""
    seed = zlib.crc32(case.name.encode())
    count = 20 if case.d * case.tokens > 10_000 else 70
    lengths = 1 + words(seed, count).astype(np.int64) % 11
    lengths[count // 2] = 83
    rows = integers(seed + 1, (int(lengths.sum()), case.d), 20)
    near = rows[np.arange(case.tokens) % lengths[0]] + integers(seed + 2, (case.tokens, case.d), 18)
    exponents = np.full((len(rows), 1), -20)
    if case.kind == "negative":
        rows = -np.abs(rows)
    elif case.kind == "huge":
        exponents += 50
    elif case.kind == "denormal":
        exponents -= 125
    elif case.kind == "wide":
        exponents += integers(seed + 3, (len(rows), 1), 6)
    elif case.kind == "ties":
        rows, near = rows >> 18, near >> 18
    query, stored = (np.ldexp(x.astype(np.float64), e).astype(np.float32) for x, e in ((near, -20), (rows, exponents)))
    return query, np.split(stored, np.cumsum(lengths)[:-1])


def digest(*parts: object) -> str:
    """The digest of an array is of its little-endian bytes, that of anything else of its repr."""
    total = hashlib.sha256()
    for part in parts:
        is_array = isinstance(part, np.ndarray)
        total.update(part.astype(part.dtype.newbyteorder("<")).tobytes() if is_array else repr(part).encode())
    return total.hexdigest()[:16]


def hits_digest(hits: ms.Hits) -> str:
    """Ids, scores, and all of the report except time and ISA."""
    report = hits.report
    rounds = [tuple(each) for each in report.rounds]
    return digest(hits.ids, hits.scores, report.guarantee, report.coverage, report.rescored, rounds)


def bits(case: Case) -> dict[str, str]:
    """What the current kernel computes for one case."""
    query, documents = collection(case)
    index = ms.Index.build(documents, store=case.store, similarity=case.similarity)
    (segment,) = index.storage.snapshot.segments
    stored = [] if case.store == "int8" else [segment.rows]
    found = {
        "codes": digest(*stored, segment.codes, segment.scale, segment.rho, segment.nu),
        "bounds": digest(*_core.bounds(index.storage.snapshot.corpus, query, 1)),
        "scores": hits_digest(index.search(query, len(documents), policy=ms.Exhaustive())),
    }
    found |= {name: hits_digest(index.search(query, 5, policy=policy)) for name, policy in POLICIES.items()}
    return found | tier0_bits(case, segment, query)


def tier0_bits(case: Case, segment: Segment, query: NDArray[np.float32]) -> dict[str, str]:
    """The same for tier 0: the codebook, the centroids of tokens, the table, proxies, and survivors."""
    scale = np.repeat(segment.scale, segment.lengths)
    made = _core.train(case.d, segment.codes, scale, CENTROIDS, 3, 1)
    book = _core.Codebook(case.d, *made)
    centroids = _core.assign(book, segment.codes, 1)
    blocks = {name: bits_of(array) for name, array in segment.blocks.items()}
    named = _core.Segment(dim=case.d, offsets=segment.offsets, **blocks, centroids=centroids)
    corpus, documents = _core.Corpus(case.d, (named,), book), np.arange(segment.documents)
    policy = _core.Calibrated(4, segment.tokens / segment.documents)
    (answer,) = _core.search(corpus, [query], [documents], 3, policy, 1, False)
    return {
        "codebook": digest(*made[:3], float(made[3]), made[4]),
        "centroids": digest(centroids),
        "table": digest(*(table(case.d, book, query[rows]) for rows in ([0], [-1], slice(None)))),
        "tier0": digest(_core.tier0(corpus, query, documents, 1)),
        "calibrated": digest(list(answer.positions), answer.scores, answer.survivors),
    }


def table(d: int, book: _core.Codebook, query: NDArray[np.float32]) -> NDArray[np.int64]:
    """The sums of the table's rows: proxies of documents with one token each, and one document for each centroid."""
    alone = _core.Segment(
        dim=d,
        offsets=np.arange(CENTROIDS + 1),
        rows=np.zeros((CENTROIDS, d), np.float32),
        centroids=np.arange(CENTROIDS, dtype=np.uint16),
    )
    proxies: NDArray[np.int64] = _core.tier0(_core.Corpus(d, (alone,), book), query, np.arange(CENTROIDS), 1)
    return proxies


if __name__ == "__main__":
    lines = [f" {json.dumps(case.name)}: {json.dumps(bits(case))}" for case in CASES]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")

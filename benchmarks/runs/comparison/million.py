"""The shapes `mid`, `million` and `three-million`: documents on disk, resampled from real token vectors.

Each document has 64 tokens: runs of neighbouring tokens of three passages (21 or 22 each) or four (16 each), drawn at
random from several test collections. Every vector gets some noise and unit length again. So what answers a query is
found in many documents, in parts, each time beside other passages and never as the same vectors: no document wins by
far, and there are no duplicates. The collections' 384 dimensions are reduced to 128 by one projection for all. Queries
are those of the collections.

It is written to a folder of the cache as int8 or as residuals of 1 bit, once, calibrated there on queries that are not
timed, and searched from there, mapped. The true scores are those of the stored vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import maxsieve as ms
from benchmarks.runs.comparison import ours
from benchmarks.runs.comparison.ours import Calibrating
from benchmarks.vectors.real import project
from benchmarks.vectors.shapes import F32, I64, ON_DISK, SHORTEST_QUERY, collection
from benchmarks.vectors.truth import F64
from maxsieve import _core
from maxsieve.common.cache import cache_folder, once
from maxsieve.common.threads import thread_count
from maxsieve.index import to_rows
from maxsieve.lab.embedded import Embedded
from maxsieve.storage.segments import Store
from maxsieve.text.encoders.projection import fit_projection

RECIPE = 1  # count up when this file changes what it computes
NAME = "million"
DOCUMENTS = ON_DISK[NAME]
LENGTH, DIM, WIDE = 64, 128, 384
COLLECTIONS = ("scifact", "hotpotqa_1k", "cosqa")
FITTED = 50_000  # tokens of each collection that the projection is fitted to
RUNS = {3: (22, 21, 21), 4: (16, 16, 16, 16)}
NOISE = 0.03  # in each coordinate: the cosine with the real vector is 0.95 on average
TOGETHER = 1024  # documents that share a random stream
K = 10
METHODS = ("calibrated-0.9", "calibrated-0.99", "certified")
TIMED, PRACTICE = 64, 256
"""The largest number of queries: to be timed, and to calibrate on."""

Track = Callable[[Iterable[F32], int], Iterable[F32]]


@dataclass(frozen=True, eq=False)
class Million:
    """An index in a folder, and queries. `Shape` is the same in memory."""

    name: str
    store: Store
    folder: Path
    documents: int
    queries: list[F32]
    build_seconds: float
    calibrating: Calibrating

    @property
    def tokens(self) -> int:
        """Document tokens."""
        return LENGTH * self.documents

    @property
    def vector_bytes(self) -> int:
        """The size of its vectors as float32."""
        return 4 * DIM * self.tokens

    @property
    def disk_bytes(self) -> int:
        """The size of the index on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def scores(self, queries: int) -> F64:
        """The true scores of the first queries with every document."""
        folder = self.folder.with_name(f"truth-{queries}")

        def compute(target: Path) -> None:
            with ms.Index.open(self.folder) as index:
                asked = (np.ascontiguousarray(query) for query in self.queries[:queries])
                rows = to_rows(list(asked), index.storage.layout)
                found = [_core.score(index.storage.snapshot.corpus, [query], thread_count(None)) for query in rows]
            np.save(target / "scores.npy", np.concatenate(found))

        once(folder, compute)
        return np.asarray(np.load(folder / "scores.npy"), np.float64)

    def __str__(self) -> str:
        asked = sorted(map(len, self.queries))
        extent = f"{self.documents:,} documents, {self.tokens:,} tokens, d = {DIM}, T = {asked[0]} to {asked[-1]}"
        return f"{extent}, mapped from disk, store={self.store}"


def load(name: str, documents: int | None, queries: int, track: Track) -> Million:
    """Makes the shape with its documents, or so many, and queries; or takes it from the cache."""
    documents, store = documents or ON_DISK[name], store_of(name)
    folder = folder_of(name, documents)
    once(folder / "made", lambda target: make(target, documents, read_passages, track, store))
    made = json.loads((folder / "made" / "made.json").read_text())
    held = np.load(folder / "made" / "queries.npz")
    asked = np.split(held["rows"], np.cumsum(held["lengths"])[:-1])
    calibrating = Calibrating(made["codebook"], made["calibration"], made["practice"])
    return Million(name, store, folder / "made" / "index", documents, asked[:queries], made["build"], calibrating)


def store_of(name: str) -> Store:
    """How the vectors of a shape are stored."""
    return "residual1" if name.endswith("-1bit") else "int8"


def folder_of(name: str, documents: int | None = None) -> Path:
    """The folder of a shape in the cache."""
    form = {"int8": ""}.get(store := store_of(name), f"-{store}")
    return cache_folder() / "million" / f"{documents or ON_DISK[name]}-{RECIPE}{form}"


@dataclass(frozen=True)
class Passages:
    """Real token vectors end to end, the length of each passage, and queries."""

    rows: F32
    lengths: I64
    queries: list[F32]


def make(target: Path, documents: int, read: Callable[[], Passages], track: Track, store: Store = "int8") -> None:
    """Builds and calibrates an index in the folder, and saves the queries to be timed, and the times."""
    passages = read()
    timed, practice = passages.queries[:TIMED], passages.queries[TIMED : TIMED + PRACTICE]
    started = perf_counter()
    index = ms.Index.build(track(mixtures(passages, documents), documents), path=target / "index", store=store)
    seconds = perf_counter() - started
    del passages
    with index:
        calibrating = ours.calibrate(index, practice, K)
    np.savez(target / "queries.npz", rows=np.concatenate(timed), lengths=np.array([len(query) for query in timed]))
    made = {
        "build": seconds,
        "codebook": calibrating.codebook_seconds,
        "calibration": calibrating.calibration_seconds,
        "practice": calibrating.queries,
    }
    (target / "made.json").write_text(json.dumps(made))


def mixtures(passages: Passages, count: int) -> Iterator[F32]:
    """Documents of parts of passages, with noise. A document depends only on its number."""
    ends = np.cumsum(passages.lengths)
    longest = max(map(max, RUNS.values()))
    long_enough = np.flatnonzero(passages.lengths >= longest)
    # For each number of runs: which of them a token belongs to, and its place there.
    run = {parts: np.repeat(np.arange(parts), sizes) for parts, sizes in RUNS.items()}
    place = {parts: np.concatenate([np.arange(size) for size in sizes]) for parts, sizes in RUNS.items()}
    for first in range(0, count, TOGETHER):
        stream = np.random.default_rng([RECIPE, first])
        chosen = stream.choice(long_enough, (TOGETHER, max(RUNS)))
        room = passages.lengths[chosen] - longest
        starts = ends[chosen] - passages.lengths[chosen] + (stream.random(chosen.shape) * (room + 1)).astype(np.int64)
        parts = stream.choice(list(RUNS), TOGETHER)
        for number in range(min(TOGETHER, count - first)):
            tokens = starts[number, run[parts[number]]] + place[parts[number]]
            noise = np.float32(NOISE) * stream.standard_normal((LENGTH, DIM), np.float32)
            rows = passages.rows[tokens] + noise
            yield rows / np.linalg.norm(rows, axis=1, keepdims=True)


def read_passages() -> Passages:
    """The passages and queries of all collections, in random but fixed order of the queries."""
    found = [collection(name, WIDE) for name in COLLECTIONS]
    basis = fit_projection(np.concatenate([_first(one, FITTED) for one in found]), DIM)
    rows, lengths, queries = [], [], []
    for one in found:
        for document in one.documents():
            rows.append(project(document, basis))
            lengths.append(len(document))
        queries += [project(query, basis) for query in one.queries.values() if len(query) >= SHORTEST_QUERY]
    order = np.random.default_rng(RECIPE).permutation(len(queries))
    return Passages(np.concatenate(rows), np.array(lengths), [queries[i] for i in order])


def _first(one: Embedded, tokens: int) -> F32:
    """The vectors of the first documents, which are in random order: so many or a few more."""
    rows: list[F32] = []
    for document in one.documents():
        rows.append(document)
        tokens -= len(document)
        if tokens <= 0:
            break
    return np.concatenate(rows)

"""What is searched: structured random corpora of fixed sizes, and real ones if there are any."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.structured import Structured
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded
from maxsieve.text.encoders.encoder import MINILM
from maxsieve.text.encoders.models import fetch_model

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

STRUCTURED = {
    "tiny": Structured(size=300, mean_length=60),
    "rerank": Structured(size=1000, mean_length=180),
    "scidocs": Structured(size=25_657, mean_length=187),
    "quora": Structured(size=100_000, mean_length=32),
    "pages": Structured(size=2000, mean_length=729),
    "pages-729": Structured(size=2000, mean_length=729, ragged=False),
    "pages-1024": Structured(size=2000, mean_length=1024, ragged=False),
    "rerank-96": Structured(size=1000, mean_length=180, dim=96),
    "blog": Structured(size=4874, mean_length=125),
}
REAL = {
    "scifact": "scifact",
    "hotpotqa": "hotpotqa_1k",
    "arguana": "arguana",
    "hotpotqa-3000": "hotpotqa_1k",
    "hotpotqa-96": "hotpotqa_1k",
}
"""Shapes made of test collections, and the folder of each in `MAXSIEVE_CORPORA`."""
DIMENSIONS = {"hotpotqa-96": 96}
"""Shapes with another number of dimensions than the usual 128: that of the recommended model."""
FIRST = {"hotpotqa-3000": 3000}
"""Shapes of only the first documents of a collection (in random order): for peers that take them in slowly."""
ON_DISK = {
    "mid": 150_000,
    "million": 1_000_000,
    "three-million": 3_000_000,
    "mid-1bit": 150_000,
    "million-1bit": 1_000_000,
    "three-million-1bit": 3_000_000,
    "ten-million-1bit": 10_000_000,
}
"""Shapes that are searched from disk, and their documents; `million.py` makes them, as int8 or as `residual1`."""
NAMES = [*STRUCTURED, *REAL, *ON_DISK]
"""All shapes. `blog` has the size of the comparison in the blog of Sentence Transformers 6, and its short query."""
QUERY_TOKENS = 32
SHORT_QUERIES = {"blog": 12}
"""Shapes whose queries have another number of tokens."""
SHORTEST_QUERY = 4
"""Shorter real queries are left out: colbandit 0.1.0 reads past their end."""
PRACTICE = 512
"""Queries to calibrate on, if there are so many besides those that are timed."""


class UnavailableError(Exception):
    """A shape can't be made here. The message says why."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Documents end to end, and queries. No document is empty, because not every library allows it."""

    name: str
    rows: F32
    lengths: I64
    queries: list[F32]
    practice: list[F32] = field(default_factory=list)
    """More queries, to calibrate on: none of them is among `queries`."""

    @cached_property
    def documents(self) -> list[F32]:
        """One [L, d] view per document."""
        ends = np.cumsum(self.lengths)
        return [self.rows[end - length : end] for end, length in zip(ends, self.lengths, strict=True)]

    @property
    def starts(self) -> I64:
        """Where each document begins in `rows`."""
        return np.cumsum(self.lengths) - self.lengths

    def chunks(self, tokens: int) -> Iterator[tuple[slice, F32, I64]]:
        """Whole documents, about so many tokens at a time: their numbers, their rows, and their offsets in these."""
        starts = self.starts
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + tokens)))
            end = starts[last] if last < len(starts) else self.tokens
            yield slice(first, last), self.rows[starts[first] : end], starts[first:last] - starts[first]
            first = last

    @property
    def tokens(self) -> int:
        """Document tokens."""
        return len(self.rows)

    @property
    def padded_bytes(self) -> int:
        """The size of a float32 array in which every document is as long as the longest."""
        return len(self.lengths) * int(self.lengths.max()) * int(self.rows.shape[1]) * 4

    def __str__(self) -> str:
        asked = sorted(len(query) for query in self.queries)
        tokens = f"{asked[0]}" if asked[0] == asked[-1] else f"{asked[0]} to {asked[-1]}"
        return f"{len(self.lengths):,} documents, {self.tokens:,} tokens, d = {self.rows.shape[1]}, T = {tokens}"


def load(name: str, queries: int, track: Callable[[Iterable[F32], int], Iterable[F32]]) -> Shape:
    """Makes the shape `name` with so many queries. `track(documents, count)` may show progress."""
    return _structured(name, queries, track) if name in STRUCTURED else _real(name, queries)


def _structured(name: str, queries: int, track: Callable[[Iterable[F32], int], Iterable[F32]]) -> Shape:
    corpus = STRUCTURED[name]
    rows = np.empty((corpus.size * corpus.mean_length * 11 // 10 + 1000, corpus.dim), np.float32)
    lengths = np.empty(corpus.size, np.int64)
    end = 0
    for position, document in enumerate(track(corpus.documents(), corpus.size)):
        lengths[position] = len(document)
        rows[end : end + len(document)] = document
        end += len(document)
    asked = corpus.queries(queries + PRACTICE, SHORT_QUERIES.get(name, QUERY_TOKENS))
    return Shape(name, rows[:end], lengths, asked[:queries], asked[queries:])


def _real(name: str, queries: int) -> Shape:
    real = collection(REAL[name], DIMENSIONS.get(name))
    asked = [query for query in real.queries.values() if len(query) >= SHORTEST_QUERY][: queries + PRACTICE]
    documents = list(islice(real.documents(), FIRST.get(name)))
    lengths = np.array([len(rows) for rows in documents])
    return Shape(name, np.concatenate(documents), lengths, asked[:queries], asked[queries:])


def corpora() -> Path:
    """The folder of test collections."""
    folder = os.environ.get("MAXSIEVE_CORPORA")
    if not folder:
        raise UnavailableError("MAXSIEVE_CORPORA names no folder of test collections")
    return Path(folder)


def collection(name: str, dim: int | None = None) -> Embedded:
    """Token vectors of a test collection, of `dim` dimensions (by default the usual number), from the cache or made."""
    folder = corpora() / name
    if not (folder / "corpus.jsonl").is_file():
        raise UnavailableError(f"there is no {name} in MAXSIEVE_CORPORA")
    fetch_model(MINILM)
    return Dataset.of(folder, progress=True).embedded(dim)

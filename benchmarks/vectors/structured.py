"""Structured random vectors: token vectors with clusters like real ones, from a seed, in any number.

There are 2,000 random unit centres, with unequal variance per dimension. A token is a centre plus 0.07 N(0, 1) in each
coordinate, normalised. A query consists of tokens of one document, each with the same noise added again. Every document
has its own random stream, so a corpus is a generator, and each document can be made again. They are good for demos and
timing; if the number of rescored documents matters, use real vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]

CENTRES = 2000
NOISE = 0.07
NARROWEST = 0.1  # standard deviation of the centres' last dimension; the first has 1, in between it falls geometrically


@dataclass(frozen=True)
class Structured:
    """A corpus of `size` documents with `dim` dimensions and `mean_length` tokens on average (half to one and a half).

    >>> corpus = Structured(size=3, dim=16, mean_length=10, seed=1)
    >>> [document.shape[1] for document in corpus.documents()]
    [16, 16, 16]
    >>> all(5 <= len(document) <= 15 for document in corpus.documents())
    True
    >>> bool((corpus.document(2) == list(corpus.documents())[2]).all())
    True
    """

    size: int
    dim: int = 128
    mean_length: int = 120
    seed: int = 0
    ragged: bool = True
    """Whether lengths differ; otherwise all documents have `mean_length` tokens, like pages with a fixed grid."""

    @cached_property
    def centres(self) -> F32:
        """The unit centres, [2000, dim].

        >>> deviations = Structured(size=1, dim=8).centres.std(axis=0)
        >>> bool(deviations[0] > 4 * deviations[7])
        True
        """
        deviations = np.geomspace(1, NARROWEST, self.dim).astype(np.float32)
        return _unit(self._stream(0).standard_normal((CENTRES, self.dim), np.float32) * deviations)

    def document(self, position: int) -> F32:
        """Make the document at `position`: unit rows [L, dim].

        >>> bool(np.allclose(np.linalg.norm(Structured(size=1).document(0), axis=1), 1))
        True
        """
        if not 0 <= position < self.size:
            raise IndexError(f"there is no document {position}: the corpus has {self.size}")
        stream = self._stream(1, position)
        spread = self.mean_length // 2 if self.ragged else 0
        length = int(stream.integers(self.mean_length - spread, self.mean_length + spread, endpoint=True))
        return _noisy(self.centres[stream.integers(CENTRES, size=length)], stream)

    def documents(self) -> Iterator[F32]:
        """All documents, made one at a time.

        >>> sum(1 for _ in Structured(size=4, dim=8, mean_length=5).documents())
        4
        """
        return (self.document(position) for position in range(self.size))

    def source(self, number: int) -> int:
        """The position of the document that query `number` is made from.

        >>> 0 <= Structured(size=10).source(3) < 10
        True
        """
        return int(self._stream(2, number).integers(self.size))

    def query(self, number: int, tokens: int = 32) -> F32:
        """Query `number`: unit rows [tokens, dim], near tokens of `document(source(number))` (some twice if few).

        >>> corpus = Structured(size=50, dim=32, mean_length=20)
        >>> query = corpus.query(0, tokens=8)
        >>> query.shape
        (8, 32)
        >>> scores = [(query @ document.T).max(axis=1).sum() for document in corpus.documents()]
        >>> int(np.argmax(scores)) == corpus.source(0)
        True
        """
        document, stream = self.document(self.source(number)), self._stream(3, number)
        return _noisy(document[stream.choice(len(document), tokens, replace=tokens > len(document))], stream)

    def queries(self, count: int, tokens: int = 32) -> list[F32]:
        """Make the first `count` queries.

        >>> len(Structured(size=10, dim=8).queries(3))
        3
        """
        return [self.query(number, tokens) for number in range(count)]

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])


def _noisy(rows: F32, stream: np.random.Generator) -> F32:
    return _unit(rows + np.float32(NOISE) * stream.standard_normal(rows.shape, np.float32))


def _unit(rows: F32) -> F32:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

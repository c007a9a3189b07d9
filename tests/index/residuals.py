"""What the specification makes of documents in a store of residuals: the rows that are stored, and their scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve import spec
from maxsieve.spec import residual
from maxsieve.storage import codebook
from maxsieve.storage.codebook import Codebook

from .support import Rows, bits

BITS = {f"residual{bits}": bits for bits in residual.BITS}


def few_tokens(patch: pytest.MonkeyPatch, tokens: int) -> None:
    """A codebook is trained on so few tokens, and has several centroids."""
    patch.setattr(codebook, "STORE_TOKENS", tokens)
    patch.setattr(codebook, "TOKENS_OF_CENTROID", 4)


def ragged(seed: int, count: int, d: int, longest: int = 9) -> list[Rows]:
    """Documents around a few centres: some empty, some with rows that are zero, huge or tiny."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, d))
    made = []
    for i, length in enumerate(rng.integers(0, longest + 1, count)):
        rows = centres[rng.integers(0, 5, length)] + 0.4 * rng.standard_normal((length, d))
        rows *= {0: 1e12, 1: 1e-12, 2: 2.0**-120}.get(i % 23, 1.0)
        rows[1:2] *= i % 3
        rows[2:3] *= 1e-3
        made.append(rows.astype(np.float32))
    return made


def to_spec(book: Codebook) -> spec.Codebook:
    d = book.dim
    return spec.Codebook(book.heads[:, :d], book.starts, book.codes[:, :d], np.float32(book.scale), book.length)


def byte_codes(rows: Rows, similarity: str) -> tuple[NDArray[np.int8], np.float32]:
    """Codes in the rotated space and their scale, of 17 bits: what residuals are made from."""
    codes, scale = spec.codes_of(turned(rows, similarity))
    mantissa, exponent = np.frexp(np.float64(scale))
    return codes, np.float32(np.ldexp(np.rint(mantissa * 2**17), exponent - 17))


def byte_rows(rows: Rows, similarity: str) -> Rows:
    """The rows of a document that awaits its codebook, in the rotated space."""
    codes, scale = byte_codes(rows, similarity)
    stored: Rows = codes * scale
    return stored


def residual_rows(book: Codebook, rows: Rows, similarity: str) -> Rows:
    """The rows of a document as centroids and residuals, in the rotated space."""
    theirs, (codes, scale) = to_spec(book), byte_codes(rows, similarity)
    return residual.decode(theirs, residual.encode(theirs, codes * scale, spec.assign(theirs, codes), book.bits))


def turned(rows: Rows, similarity: str) -> Rows:
    """Documents and queries as they are compared."""
    return spec.rotate(spec.normalise(rows) if similarity == "cosine" else rows)


class Expected:
    """The rows of documents as they are stored, in the rotated space, and what the specification finds among them."""

    def __init__(self, rows: Mapping[Any, Rows], similarity: str) -> None:
        self.rows, self.similarity = dict(rows), similarity
        self._scores: dict[bytes, Rows] = {}

    def best(self, query: Rows, k: int, among: Collection[Any] | None = None) -> list[tuple[Any, bytes]]:
        """The hits among some documents, or among all, as (id, bits of the score)."""
        if query.tobytes() not in self._scores:
            scored = spec.scores(turned(query, self.similarity), list(self.rows.values()))
            self._scores[query.tobytes()] = scored
        there = np.array([among is None or one in among for one in self.rows])
        scores = np.where(there, self._scores[query.tobytes()], np.float32(-np.inf))
        ids = list(self.rows)
        return [(ids[i], scores[i].tobytes()) for i in spec.top_k(scores, k)]

    def check(self, index: ms.Index, queries: Sequence[Rows], k: int = 4) -> None:
        """The index has these rows in the caller's space, and finds the best documents, with proof."""
        assert index.ids == list(self.rows)
        for one, rows in self.rows.items():
            assert index.vectors(one).tobytes() == spec.unrotate(rows).tobytes(), one
        for query in queries:
            for policy in (ms.Certified(), ms.Exhaustive()):
                hits = index.search(query, k, policy=policy)
                assert bits(hits) == self.best(query, k), policy
                assert hits.report.guarantee == "exact"

"""Vectors as a few bits a number, decoded: centroids and residual bits of the rotated space, and PLAID's form.

Both use the same centroids, trained on all tokens as a store would train them, and the same bits. PLAID's form
(Santhanam et al. 2022) does not rotate; its levels are quantiles of all residuals, and it keeps no scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.lab.embedded import F32, Embedded
from maxsieve.storage.segments import to_offsets
from maxsieve.text.encoders.encoder import unit_rows

BITS = (1, 2, 4)
SEED, GROUPS, PROBES = 0, 256, 2
TOKENS_PER_CENTROID = 16
SAMPLE_STEP = 17
"""Quantiles are those of every so many tokens."""


class Decoded(NamedTuple):
    """Documents as a store gives them back, and its bytes a token, without the codebook."""

    name: str
    bits: int
    nbytes: float
    documents: list[F32]


class Residuals:
    """The tokens of a corpus, their centroids and their int8 codes in the rotated space."""

    def __init__(self, data: Embedded, threads: int, centroids: int | None = None) -> None:
        documents = list(data.documents())
        self.dim, self._threads = data.index.dim, threads
        self._rows = unit_rows(np.concatenate(documents))
        self._offsets = to_offsets(np.array([len(rows) for rows in documents], np.int64))
        tokens, count = len(self._rows), len(documents)
        codes = np.empty((tokens, _core.code_stride(self.dim)), np.int8)
        scale, rho, nu = (np.empty(count, np.float32) for _ in range(3))
        blocks: dict[str, Any] = {"codes": codes, "scale": scale, "rho": rho, "nu": nu}
        _core.ingest([self._rows], self.dim, self._offsets, None, **blocks, cosine=True, threads=threads, rotated=True)
        scales = np.repeat(scale, np.diff(self._offsets))
        self.centroids = centroids or min(65536, 2 ** max(8, round(log2(tokens / TOKENS_PER_CENTROID))))
        groups = GROUPS if self.centroids > 16 * GROUPS else 0
        made = _core.train(self.dim, codes, scales, self.centroids, SEED, threads, groups=groups, probes=PROBES)
        self._book = _core.Codebook(self.dim, *made)
        self._ids = _core.assign(self._book, codes, threads)
        self._segment = _core.Segment(
            self.dim, self._offsets, codes=codes, scale=scale, rho=rho, nu=nu, centroids=self._ids
        )
        centres = made[2][:, : self.dim].astype(np.float32) * np.float32(made[3])
        _core.rotate(centres, back=True)
        self._centres = centres

    @property
    def codebook_bytes(self) -> float:
        """Bytes of centroids for each token: int8 codes and a length."""
        return float(self.centroids * (self.dim + 4) / len(self._rows))

    @property
    def cosine(self) -> float:
        """The mean cosine of a token to its centroid."""
        near = unit_rows(self._centres)[self._ids]
        return float(np.einsum("nd,nd->n", self._rows, near).mean())

    def forms(self, bits: int) -> Iterator[Decoded]:
        """Ours and PLAID's, one after the other."""
        yield self._ours(bits)
        yield self._plaid(bits)

    def _ours(self, bits: int) -> Decoded:
        stored, arrays = self._stored(bits)
        documents = [_core.decode_residual(stored, i) for i in range(len(self._offsets) - 1)]
        for rows in documents:
            _core.rotate(rows, back=True)
        nbytes = sum(array.nbytes for array in arrays) / len(self._rows)
        return Decoded("residual bits", bits, nbytes, documents)

    def _stored(self, bits: int) -> tuple[_core.Segment, tuple[NDArray[Any], ...]]:
        levels, factors, scale, nu = _core.encode_residual(self._book, self._segment, bits, self._threads)
        segment = _core.Segment(
            self.dim, self._offsets, centroids=self._ids, levels=levels, factors=factors, scale=scale, nu=nu, bits=bits,
            codebook=self._book,
        )  # fmt: skip
        return segment, (levels, factors, scale, nu, self._ids)

    def corpus(self, bits: int) -> _core.Corpus:
        """What the engine searches: residual bits, or byte codes of the rotated space if ``bits`` is 8."""
        segment = self._segment if bits == 8 else self._stored(bits)[0]
        return _core.Corpus(self.dim, (segment,), self._book)

    @property
    def candidates(self) -> NDArray[np.int64]:
        """The positions of documents that have tokens."""
        return np.flatnonzero(np.diff(self._offsets))

    def _plaid(self, bits: int) -> Decoded:
        left = self._rows - self._centres[self._ids]
        some, count = left[::SAMPLE_STEP], 2**bits
        values = np.quantile(some, (np.arange(count) + 0.5) / count).astype(np.float32)
        cuts = np.quantile(some, np.arange(1, count) / count)
        for start in range(0, len(left), 1 << 16):
            piece: NDArray[np.float32] = left[start : start + (1 << 16)]
            piece[...] = values[np.searchsorted(cuts, piece)]
        decoded = unit_rows(left + self._centres[self._ids])
        documents = np.split(decoded, self._offsets[1:-1])
        return Decoded("PLAID's form", bits, 2 + self.dim * bits / 8, documents)

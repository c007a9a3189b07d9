"""Quantises a corpus to int8 codes, with different clipping limits, in the arithmetic of `spec.quantiser`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxsieve.lab.embedded import F32, F64, Embedded
from maxsieve.spec import norm_up, up32
from maxsieve.spec.quantiser import TINIEST

PERCENTILE = 99.9
BINS = 1 << 16
ROWS = 1 << 15
"""Rows of one matrix product."""

ABSMAX, PER_DOCUMENT, PER_CORPUS = "absmax", f"clip at {PERCENTILE} %, document", f"clip at {PERCENTILE} %, corpus"


@dataclass(frozen=True)
class CorpusCodes:
    """Codes [tokens, d] of the documents that have tokens, their offsets, scales, residuals and norms."""

    codes: NDArray[np.int8]
    offsets: NDArray[np.int64]
    scale: F64
    rho: F64
    nu: F64
    clipped: float
    """The share of values that are clipped."""

    def maxima(self, tokens: NDArray[np.int8]) -> F32:
        """``max_j <y_t, c_j>`` for every document and query token, [N, T]: whole numbers."""
        columns = tokens.astype(np.float32).T
        ends = np.append(self.offsets, len(self.codes))
        found = np.empty((len(self.offsets), columns.shape[1]), np.float32)
        first = 0
        while first < len(found):
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + ROWS, side="right")) - 1)
            products = self.codes[ends[first] : ends[last]].astype(np.float32) @ columns
            np.maximum.reduceat(products, ends[first:last] - ends[first], axis=0, out=found[first:last])
            first = last
        return found


def limits(data: Embedded) -> dict[str, Callable[[F32], float]]:
    """For each quantiser, a function from a document's rows to the largest magnitude that is not clipped."""
    common = corpus_percentile(data)
    return {
        ABSMAX: lambda rows: float(np.abs(rows).max(initial=0)),
        PER_DOCUMENT: lambda rows: float(np.percentile(np.abs(rows), PERCENTILE)),
        PER_CORPUS: lambda _: common,
    }


def corpus_percentile(data: Embedded) -> float:
    """The percentile `PERCENTILE` of all magnitudes, to 1/65,536 of the largest."""
    largest = max((float(np.abs(rows).max()) for rows in data.documents()), default=0.0)
    if largest == 0.0:
        return 0.0
    counts = np.zeros(BINS, np.int64)
    for rows in data.documents():
        bins = np.minimum(np.abs(rows).ravel() * np.float32(BINS / largest), BINS - 1).astype(np.int64)
        counts += np.bincount(bins, minlength=BINS)
    below = np.cumsum(counts)
    return largest * float(np.searchsorted(below, PERCENTILE / 100 * below[-1]) + 1) / BINS


def quantise_corpus(data: Embedded, limit: Callable[[F32], float]) -> CorpusCodes:
    """The corpus in codes where 127 is a document's limit, in the arithmetic of `spec.quantiser`."""
    codes, lengths, scales, rhos, nus, clipped = [], [], [], [], [], 0
    for rows in data.documents():
        m = np.float32(limit(rows))
        reached = np.zeros(rows.shape, np.float32) if m < TINIEST else rows * (np.float32(127) / m)
        scales.append(np.float32(0) if m < TINIEST else m / np.float32(127))
        codes.append(np.clip(np.rint(reached), -127, 127).astype(np.int8))
        lengths.append(len(rows))
        wide = rows.astype(np.float64)
        rhos.append(up32(norm_up(wide - np.float64(scales[-1]) * codes[-1]).max()))
        nus.append(up32(norm_up(wide).max()))
        clipped += int((np.abs(rows) > m).sum())
    flat = np.concatenate([np.zeros((0, data.index.dim), np.int8), *codes])
    offsets = np.cumsum([0, *lengths])[:-1]
    scale, rho, nu = (np.array(column, np.float64) for column in (scales, rhos, nus))
    return CorpusCodes(flat, offsets, scale, rho, nu, clipped / max(1, flat.size))

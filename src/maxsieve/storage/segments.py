"""Segments: immutable runs of documents as the engine reads them. Vectors go in; rows, codes and bounds come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import Batch, FloatArray, as_buffer, describe_invalid, to_float32

Store: TypeAlias = Literal["float32", "float16"]
Similarity: TypeAlias = Literal["dot", "cosine"]

BLOCK_BYTES = 64 << 20
"""Float32 rows that become one segment; where documents come one by one, a build holds a block beside the index."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Documents end to end: stored rows [tokens, d], offsets, codes [tokens, padded d], and scale, rho, nu for each."""

    rows: NDArray[np.float32] | NDArray[np.float16]
    offsets: NDArray[np.int64]
    codes: NDArray[np.int8]
    scale: NDArray[np.float32]
    rho: NDArray[np.float32]
    nu: NDArray[np.float32]
    native: _core.Segment = field(init=False)

    def __post_init__(self) -> None:
        for array in self.arrays:
            array.flags.writeable = False
        rows: NDArray[Any] = self.rows.view(np.uint16) if self.rows.dtype == np.float16 else self.rows
        native = _core.Segment(rows.shape[1], self.offsets, rows, self.codes, self.scale, self.rho, self.nu)
        object.__setattr__(self, "native", native)

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """Everything it holds."""
        return (self.rows, self.offsets, self.codes, self.scale, self.rho, self.nu)

    @property
    def documents(self) -> int:
        """How many documents."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """How many token vectors."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.arrays)

    def keep(self, alive: NDArray[np.bool_]) -> Segment:
        """The same without the documents that are not alive."""
        lengths = np.diff(self.offsets)
        tokens = np.repeat(alive, lengths)
        return Segment(
            self.rows[tokens],
            to_offsets(lengths[alive]),
            self.codes[tokens],
            self.scale[alive],
            self.rho[alive],
            self.nu[alive],
        )


def to_offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each document's rows begin, and the end of the last.

    >>> to_offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def concatenate(segments: Sequence[Segment]) -> Segment:
    """One segment of all their documents, in order."""
    lengths = np.concatenate([np.diff(segment.offsets) for segment in segments])
    rows, _, codes, scale, rho, nu = (
        np.concatenate(arrays) for arrays in zip(*(segment.arrays for segment in segments), strict=True)
    )
    return Segment(rows, to_offsets(lengths), codes, scale, rho, nu)


def merge_small(segments: Sequence[Segment]) -> list[Segment]:
    """Folds small segments at the end into one, so that adding documents one by one leaves few segments.

    The last two become one while the last is at least half the one before and both fit a block; a document is then
    copied some log2(documents) times in all.
    """
    merged = list(segments)
    while len(merged) > 1:
        before, last = merged[-2:]
        if 2 * last.nbytes < before.nbytes or before.nbytes + last.nbytes > BLOCK_BYTES:
            break
        merged[-2:] = [concatenate([before, last])]
    return merged


class SegmentBuilder:
    """Gathers documents until they fill a block, makes a segment of each block and hands it to ``emit``.

    ``name(i)`` says in errors which document is meant, ``i`` counting from the first one added here.
    """

    def __init__(
        self,
        dim: int,
        store: Store,
        similarity: Similarity,
        threads: int,
        name: Callable[[int], str],
        emit: Callable[[Segment], None],
    ) -> None:
        self._dim, self._store, self._similarity = dim, store, similarity
        self._threads, self._name, self._emit = threads, name, emit
        self._capacity = max(1, BLOCK_BYTES // (4 * dim))
        self._emitted = 0
        self._arrays: list[FloatArray] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._tokens = 0

    def add(self, batch: Batch) -> None:
        """Takes documents; their arrays must stay as they are until they are in a segment."""
        self._arrays += [array for array in batch.arrays if len(array)]
        self._lengths.append(batch.lengths)
        self._tokens += int(batch.lengths.sum())
        while self._tokens > self._capacity:
            self._emit_block()

    def finish(self) -> None:
        """Makes a segment of what is left."""
        if self._lengths:
            self._emit_block()

    def _emit_block(self) -> None:
        segment = self._to_segment(*self._next_block())
        self._emit(segment)
        self._emitted += segment.documents

    def _next_block(self) -> tuple[list[FloatArray], NDArray[np.int64]]:
        """As many documents as fit a block, and at least one that has tokens: arrays and lengths."""
        lengths = np.concatenate(self._lengths)
        ends = np.cumsum(lengths)
        count = int(np.searchsorted(ends, self._capacity, side="right"))
        if count < len(ends) and not ends[:count].any():
            count += 1
        arrays, self._arrays = _split(self._arrays, int(ends[count - 1]))
        self._lengths = [lengths[count:]] if count < len(lengths) else []
        self._tokens -= int(ends[count - 1])
        return arrays, lengths[:count]

    def _to_segment(self, arrays: list[FloatArray], lengths: NDArray[np.int64]) -> Segment:
        offsets = to_offsets(lengths)
        tokens = int(offsets[-1])
        rows = np.empty((tokens, self._dim), self._store)
        codes = np.empty((tokens, _core.code_stride(self._dim)), np.int8)
        scale, rho, nu = (np.empty(len(lengths), np.float32) for _ in range(3))
        plain = [as_buffer(array) for array in arrays]
        writable = rows.view(np.uint16) if self._store == "float16" else rows
        cosine = self._similarity == "cosine"
        bad = _core.ingest(plain, self._dim, offsets, writable, codes, scale, rho, nu, cosine, self._threads)
        if bad >= 0:
            raise self._refusal(arrays, offsets, bad)
        return Segment(rows, offsets, codes, scale, rho, nu)

    def _refusal(self, arrays: list[FloatArray], offsets: NDArray[np.int64], document: int) -> ValueError:
        """What is wrong with a document of a block."""
        _, rest = _split(arrays, int(offsets[document]))
        (first, *_), _ = _split(rest, int(offsets[document + 1] - offsets[document]))
        rows = to_float32(first, copy=True)
        if (row := _core.first_invalid_row(rows)) >= 0:
            return ValueError(describe_invalid(rows[row], self._where(document, row)))
        with np.errstate(all="ignore"):
            row = _core.first_invalid_row(to_float32(rows.astype(np.float16)))
        where = self._where(document, row)
        return ValueError(f"{where} has a magnitude over 65504, the largest float16; use store='float32'")

    def _where(self, document: int, row: int) -> str:
        return f"{self._name(self._emitted + document)}, row {row}"


def _split(arrays: list[FloatArray], tokens: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """The first so many rows of arrays laid end to end, and the others."""
    ends = np.cumsum(np.fromiter(map(len, arrays), np.int64, len(arrays)))
    whole = int(np.searchsorted(ends, tokens, side="right"))
    more = tokens - (int(ends[whole - 1]) if whole else 0)
    if not more:
        return arrays[:whole], arrays[whole:]
    return [*arrays[:whole], arrays[whole][:more]], [arrays[whole][more:], *arrays[whole + 1 :]]

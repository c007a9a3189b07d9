"""Segments: immutable runs of documents as the engine reads them. Vectors go in; rows, codes and bounds come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import Batch, describe_invalid, to_float32

Store: TypeAlias = Literal["float32", "float16"]
Similarity: TypeAlias = Literal["dot", "cosine"]

BLOCK_BYTES = 64 << 20
"""Float32 rows gathered before they are quantised into a segment: a build holds one such block beside the index."""


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
        native = _core.Segment(rows, self.offsets, self.codes, self.scale, self.rho, self.nu)
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
    """Gathers rows into blocks, quantises each full block into a segment and hands it to ``emit``.

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
        self._documents = 0
        self._begin(0)

    def add(self, batch: Batch) -> None:
        """Copies the rows: the caller may reuse their memory at once."""
        ends = np.cumsum(batch.lengths)
        first, start = 0, 0
        while first < len(ends):
            room = len(self._block) - self._filled
            last = int(np.searchsorted(ends, start + room, side="right"))
            if last == first and self._filled:
                self._finish_block(int(ends[first]) - start)
                continue
            last = max(last, first + 1)
            self._copy(batch.rows[start : int(ends[last - 1])], batch.lengths[first:last])
            first, start = last, int(ends[last - 1])

    def finish(self) -> None:
        """Makes a segment of what is left."""
        if self._lengths:
            self._finish_block(0)

    def _begin(self, at_least: int) -> None:
        # Untouched pages of a fresh array cost nothing, so a small build stays small.
        self._block = np.empty((max(self._capacity, at_least), self._dim), np.float32)
        self._filled = 0
        self._lengths: list[NDArray[np.int64]] = []

    def _copy(self, rows: NDArray[np.generic], lengths: NDArray[np.int64]) -> None:
        if len(rows) > len(self._block):  # one document beyond a block, with at most empty ones before it
            self._block = np.empty((len(rows), self._dim), np.float32)
        with np.errstate(all="ignore"):
            self._block[self._filled : self._filled + len(rows)] = rows
        self._filled += len(rows)
        self._lengths.append(lengths)

    def _finish_block(self, next_rows: int) -> None:
        lengths = np.concatenate(self._lengths)
        rows = self._block if self._filled == len(self._block) else self._block[: self._filled].copy()
        self._block = rows  # lets go of the larger one before more memory is needed
        self._emit(self._quantise(rows, lengths))
        self._documents += len(lengths)
        self._begin(next_rows)

    def _quantise(self, rows: NDArray[np.float32], lengths: NDArray[np.int64]) -> Segment:
        offsets = to_offsets(lengths)
        if self._similarity == "cosine":
            if (row := _core.first_invalid_row(rows)) >= 0:
                document = int(np.searchsorted(offsets, row, side="right")) - 1
                raise ValueError(describe_invalid(rows[row], self._where(document, row - int(offsets[document]))))
            _core.normalise(rows)
        stored: NDArray[np.float32] | NDArray[np.float16] = rows
        if self._store == "float16":
            with np.errstate(all="ignore"):
                stored = rows.astype(np.float16)
        exact = to_float32(stored)
        codes = np.empty((len(rows), _core.code_stride(self._dim)), np.int8)
        scale, rho, nu = (np.empty(len(lengths), np.float32) for _ in range(3))
        bad = _core.quantise(exact, offsets, codes, scale, rho, nu, self._threads)
        if bad >= 0:
            first = int(offsets[bad])
            row = _core.first_invalid_row(exact[first : offsets[bad + 1]])
            where, given = self._where(bad, row), rows[first + row]
            if _core.first_invalid_row(given[None]) >= 0:
                raise ValueError(describe_invalid(given, where))
            raise ValueError(f"{where} has a magnitude over 65504, the largest float16; use store='float32'")
        return Segment(stored, offsets, codes, scale, rho, nu)

    def _where(self, document: int, row: int) -> str:
        return f"{self._name(self._documents + document)}, row {row}"

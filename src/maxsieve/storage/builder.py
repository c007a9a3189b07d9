"""Collects documents until there are enough for a segment, and quantises them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import Batch, FloatArray, as_buffer, check_mapped, describe_invalid, to_float32
from maxsieve.errors import Argument, hinted
from maxsieve.storage import segments
from maxsieve.storage.segments import Similarity, Store, bits, block_kinds, to_offsets

Blocks: TypeAlias = dict[str, NDArray[Any]]


class SegmentBuilder:
    """Collects documents until there are enough for a segment, and passes its offsets and blocks to ``emit``.

    Errors call document ``i`` by ``name(i)``; ``i`` counts from 0 in this builder.
    """

    def __init__(
        self,
        dim: int,
        store: Store,
        similarity: Similarity,
        threads: int,
        name: Callable[[int], str],
        emit: Callable[[NDArray[np.int64], Blocks], None],
    ) -> None:
        self._dim, self._kinds, self._cosine = dim, block_kinds(dim, store), similarity == "cosine"
        self._threads, self._name, self._emit = threads, name, emit
        self._capacity = max(1, segments.BLOCK_BYTES // (4 * dim))
        self._emitted = 0
        self._arrays: list[FloatArray] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._tokens = 0

    def add(self, batch: Batch) -> None:
        """Adds documents. Their arrays must not change until they are in a segment."""
        self._arrays += [array for array in batch.arrays if len(array)]
        self._lengths.append(batch.lengths)
        self._tokens += int(batch.lengths.sum())
        while self._tokens > self._capacity:
            self._emit_next()

    def finish(self) -> None:
        """Emits the documents that were not emitted yet."""
        if self._lengths:
            self._emit_next()

    def _emit_next(self) -> None:
        offsets, blocks = self._ingest(*self._next())  # which releases the arrays before anything is written
        self._emit(offsets, blocks)
        self._emitted += len(offsets) - 1

    def _next(self) -> tuple[list[FloatArray], NDArray[np.int64]]:
        """Arrays and lengths of as many documents as fit into a segment, but at least one that has tokens."""
        lengths = np.concatenate(self._lengths)
        ends = np.cumsum(lengths)
        count = int(np.searchsorted(ends, self._capacity, side="right"))
        if count < len(ends) and not ends[:count].any():
            count += 1
        arrays, self._arrays = _split(self._arrays, int(ends[count - 1]))
        self._lengths = [lengths[count:]] if count < len(lengths) else []
        self._tokens -= int(ends[count - 1])
        return arrays, lengths[:count]

    def _ingest(self, arrays: list[FloatArray], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], Blocks]:
        check_mapped(arrays)
        offsets = to_offsets(lengths)
        documents, tokens = len(lengths), int(offsets[-1])
        blocks: Blocks = {}
        for kind in self._kinds:
            count = tokens if kind.per_token else documents
            blocks[kind.name] = np.empty(count if kind.columns is None else (count, kind.columns), kind.dtype)
        writable: dict[str, Any] = {"rows": None} | {name: bits(block) for name, block in blocks.items()}
        given = [as_buffer(array) for array in arrays]
        bad = _core.ingest(given, self._dim, offsets, **writable, cosine=self._cosine, threads=self._threads)
        if bad >= 0:
            raise self._refusal(arrays, offsets, bad)
        return offsets, blocks

    def _refusal(self, arrays: list[FloatArray], offsets: NDArray[np.int64], document: int) -> ValueError:
        """What is wrong with a document."""
        _, rest = _split(arrays, int(offsets[document]))
        (first, *_), _ = _split(rest, int(offsets[document + 1] - offsets[document]))
        rows = to_float32(first, copy=True)
        if (row := _core.first_invalid_row(rows)) >= 0:
            return ValueError(describe_invalid(rows[row], self._where(document, row)))
        with np.errstate(all="ignore"):
            row = _core.first_invalid_row(to_float32(rows.astype(np.float16)))
        where = self._where(document, row)
        wrong = ValueError(f"{where} has a magnitude over 65504, the largest float16")
        return hinted(wrong, "; use {}", Argument("store", "float32"))

    def _where(self, document: int, row: int) -> str:
        return f"{self._name(self._emitted + document)}, row {row}"


def _split(arrays: list[FloatArray], tokens: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """Splits concatenated arrays into the first ``tokens`` rows and the others."""
    ends = np.cumsum(np.fromiter(map(len, arrays), np.int64, len(arrays)))
    whole = int(np.searchsorted(ends, tokens, side="right"))
    more = tokens - (int(ends[whole - 1]) if whole else 0)
    if not more:
        return arrays[:whole], arrays[whole:]
    return [*arrays[:whole], arrays[whole][:more]], [arrays[whole][more:], *arrays[whole + 1 :]]

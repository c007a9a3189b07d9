"""Segments as files: written block by block, read by mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile, BlockWriter
from maxsieve.storage.id_column import IntColumn, StrColumn, read_ids, write_ids
from maxsieve.storage.segments import Segment, Store, to_offsets

PIECE_BYTES = 16 << 20
"""What a merge holds in memory of each block at a time."""

ROWS_DTYPE = {"float32": "<f4", "float16": "<f2"}


class Source(NamedTuple):
    """A segment that goes into a new file, or the documents of it that are alive."""

    segment: Segment
    alive: NDArray[np.bool_]


class MappedSegment(NamedTuple):
    """A segment over a mapped file, with its ids."""

    file: BlockFile
    segment: Segment
    ids: IntColumn | StrColumn


def write_segment(path: Path, sources: Sequence[Source], ids: Sequence[Id]) -> None:
    """Writes the living documents of some segments, in order, as one; ``ids`` are theirs. Durable when it returns."""
    with BlockWriter(path) as writer:
        lengths = [np.diff(source.segment.offsets)[source.alive] for source in sources]
        writer.write("offsets", "<i8", 1, [to_offsets(np.concatenate(lengths))])
        for name in ("scale", "rho", "nu"):
            writer.write(name, "<f4", 1, (getattr(source.segment, name)[source.alive] for source in sources))
        write_ids(writer, ids)
        first = sources[0].segment
        writer.write("codes", "|i1", first.codes.shape[1], _pieces(sources, lambda segment: segment.codes))
        rows = "<f2" if first.rows.dtype == np.float16 else "<f4"
        writer.write("rows", rows, first.rows.shape[1], _pieces(sources, lambda segment: segment.rows))
        writer.commit()


def map_segment(path: Path, dim: int, store: Store, documents: int, tokens: int) -> MappedSegment:
    """Maps a segment and checks that its blocks fit each other, before anything is read through them."""
    file = BlockFile(path)
    offsets = file.array("offsets", "<i8")
    scale, rho, nu = (file.array(name, "<f4") for name in ("scale", "rho", "nu"))
    codes = file.array("codes", "|i1", _core.code_stride(dim))
    rows = file.array("rows", ROWS_DTYPE[store], dim)
    if len(offsets) != documents + 1 or any(len(bound) != documents for bound in (scale, rho, nu)):
        raise DamagedIndexError(f"{path} does not have the {documents} documents of the manifest")
    if not len(codes) == len(rows) == tokens:
        raise DamagedIndexError(f"{path} does not have the {tokens} tokens of the manifest")
    ids = read_ids(file, documents)
    try:
        return MappedSegment(file, Segment(rows, offsets, codes, scale, rho, nu), ids)
    except ValueError as problem:
        raise DamagedIndexError(f"{path}: {problem}") from None


def _pieces(sources: Sequence[Source], block: Callable[[Segment], NDArray[Any]]) -> Iterator[NDArray[Any]]:
    for source in sources:
        array = block(source.segment)
        step = max(1, PIECE_BYTES // max(1, array[:1].nbytes))
        kept = np.repeat(source.alive, np.diff(source.segment.offsets))
        for start in range(0, len(array), step):
            piece = array[start : start + step]
            mask = kept[start : start + step]
            yield piece if mask.all() else piece[mask]

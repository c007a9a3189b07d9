"""What takes the room in a collection's folder: bytes on disk, part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxsieve.storage.manifest import kind_of
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Segment
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.description import INDEX, PROJECTION
from maxsieve.text.word_table import FOLDER as BM25

BLOCKS = {"rows": "vectors", "codes": "codes", "scale": "bounds", "rho": "bounds", "nu": "bounds", "offsets": "bounds"}
"""The part that a block of a segment belongs to; all others hold ids."""

FILES = {"centroids": "centroids", "codebook": "centroids", "calibration": "calibration", "records": "texts"}
"""The part that a file of the index belongs to, by its kind."""

PARTS = {
    "vectors": "vectors, as float16 or float32",
    "codes": "int8 codes of the vectors",
    "bounds": "scales and bounds",
    "centroids": "centroids, for calibrated search",
    "calibration": "calibration",
    "ids": "ids",
    "texts": "texts and metadata",
    "bm25": "BM25's table",
    "projection": "projection",
    "other": "other files",
}
"""Each part in words."""


def room(folder: Path, state: Snapshot) -> dict[str, Any]:
    """Bytes of all files, part by part; how many times the texts that is; and what deleted documents take of it.

    ``deleted`` counts vectors, codes, bounds and centroids. Texts are as they are kept: with ids and metadata, as JSON.
    """
    parts = dict.fromkeys(PARTS, 0)
    segments = {segment.file.path.name: segment for segment in state.segments if isinstance(segment, StoredSegment)}
    for path, size in _files(folder):
        if path.parent == folder / INDEX and path.name in segments:
            inside = segments[path.name].file.blocks
            for name, block in inside.items():
                parts[BLOCKS.get(name, "ids")] += block.nbytes
            parts["other"] += size - sum(block.nbytes for block in inside.values())
        else:
            parts[_part(path.relative_to(folder))] += size
    total = sum(parts.values())
    return {
        "total": total,
        "parts": parts,
        "times_texts": total / parts["texts"] if parts["texts"] else None,
        "deleted": sum(_deleted(segment) for segment in state.segments),
    }


def _part(path: Path) -> str:
    """The part that a file belongs to, which is no segment of the present state."""
    top = path.parts[0]
    if top == INDEX:
        return FILES.get(kind_of(path.name) or "", "other")
    return {PROJECTION: "projection", BM25: "bm25"}.get(top, "other")


def _deleted(segment: Segment) -> int:
    """What documents take that were deleted and are still there."""
    documents, tokens = int((~segment.alive).sum()), int(segment.lengths[~segment.alive].sum())
    if not documents:
        return 0
    rows = {kind.name: tokens if kind.per_token else documents for kind in segment.kinds}
    return sum(rows[name] * block[:1].nbytes for name, block in segment.blocks.items())


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """All files and their sizes; links are not followed, and what goes meanwhile is left out."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                yield path, path.lstat().st_size
            except OSError:
                continue

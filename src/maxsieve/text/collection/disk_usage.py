"""Disk usage of a collection's folder, by part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxsieve.storage.manifest import kind_of
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Segment
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.collection.description import PROJECTION
from maxsieve.text.lexical.word_table import FOLDER as BM25

BLOCKS = {"rows": "vectors", "codes": "codes", "scale": "bounds", "rho": "bounds", "nu": "bounds", "offsets": "bounds"}
"""The part that each block of a segment belongs to; blocks not listed hold ids."""

FILES = {
    "centroids": "centroids",
    "lists": "centroids",
    "codebook": "centroids",
    "calibration": "calibration",
    "records": "texts",
}
"""The part that each kind of index file belongs to."""

PARTS = {
    "vectors": "vectors, as float16 or float32",
    "codes": "int8 codes of the vectors",
    "bounds": "scales and bounds",
    "centroids": "centroids and lists, for calibrated search",
    "calibration": "calibration",
    "ids": "ids",
    "texts": "texts and metadata",
    "bm25": "BM25's table",
    "projection": "projection",
    "other": "other files",
}
"""A description of each part."""


def disk_usage(folder: Path, snapshot: Snapshot) -> dict[str, Any]:
    """Bytes of all files, by part; the ratio of the total to the texts; and the bytes that deleted documents take.

    ``deleted`` counts vectors, codes, bounds and centroids. Texts are counted as stored: with ids and metadata, as
    JSON.
    """
    parts = dict.fromkeys(PARTS, 0)
    segments = {segment.file.path: segment for segment in snapshot.segments if isinstance(segment, StoredSegment)}
    for path, size in _files(folder):
        if path in segments:
            inside = segments[path].file.blocks
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
        "deleted": sum(_deleted(segment) for segment in snapshot.segments),
    }


def _part(path: Path) -> str:
    """The part that a file belongs to, which is no segment of the present version."""
    known = {PROJECTION: "projection", BM25: "bm25"}
    return known.get(path.parts[0]) or FILES.get(kind_of(path.name) or "", "other")


def _deleted(segment: Segment) -> int:
    """Bytes of deleted documents that are still in the segment."""
    documents, tokens = int((~segment.alive).sum()), int(segment.lengths[~segment.alive].sum())
    if not documents:
        return 0
    rows = {kind.name: tokens if kind.per_token else documents for kind in segment.kinds}
    return sum(rows[name] * block[:1].nbytes for name, block in segment.blocks.items())


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """All files and their sizes. Links are not followed; files that are removed meanwhile are left out."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                yield path, path.lstat().st_size
            except OSError:
                continue

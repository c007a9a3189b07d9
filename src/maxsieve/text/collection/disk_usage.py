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
from maxsieve.text.collection.pictures import FOLDER as PICTURES
from maxsieve.text.lexical.word_table import FOLDER as BM25
from maxsieve.text.passages import Keys, read_records, to_passage

BLOCKS = {
    "rows": "vectors",
    "codes": "codes",
    "levels": "codes",
    "factors": "codes",
    "centroids": "codes",
    **dict.fromkeys(("scale", "rho", "nu", "offsets"), "bounds"),
}
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
    "codes": "codes of the vectors",
    "bounds": "scales and bounds",
    "centroids": "centroids and lists, for calibrated search",
    "calibration": "calibration",
    "ids": "ids",
    "texts": "texts and metadata",
    "bm25": "BM25's table",
    "projection": "projection",
    "pictures": "pictures of pages",
    "other": "other files",
}
"""A description of each part."""


RUNS, RUN = 16, 256
"""In a larger collection, this many runs of so many passages are read to estimate the size of all texts."""


def disk_usage(folder: Path, snapshot: Snapshot, keys: Keys) -> dict[str, Any]:
    """Bytes of all files, by part; the ratio of the total to the texts; and the bytes that deleted documents take.

    ``deleted`` counts vectors, codes, bounds and centroids. ``text_bytes`` are the texts alone, in UTF-8: without ids
    and metadata, and what two passages share counts once. They are estimated if there are many.
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
    total, texts = sum(parts.values()), text_bytes(snapshot, keys)
    return {
        "total": total,
        "parts": parts,
        "text_bytes": texts,
        "times_texts": total / texts if texts else None,
        "deleted": sum(_deleted(segment) for segment in snapshot.segments),
    }


def text_bytes(snapshot: Snapshot, keys: Keys) -> int:
    """The bytes of all texts, or an estimate from runs of passages that are spread evenly."""
    live = snapshot.live
    if len(live) <= RUNS * RUN:
        return _bytes_of(snapshot, live.tolist(), keys)
    starts = [number * (len(live) - RUN) // (RUNS - 1) for number in range(RUNS)]
    some = sum(_bytes_of(snapshot, live[start : start + RUN].tolist(), keys) for start in starts)
    return some * len(live) // (RUNS * RUN)


def _bytes_of(snapshot: Snapshot, positions: list[int], keys: Keys) -> int:
    """The bytes of the texts of consecutive passages. A passage begins with the end of the one before."""
    total, last, end = 0, None, 0
    for key, record in read_records(snapshot, positions):
        id, number = keys.parse(key)
        passage = to_passage(record, number)
        repeated = max(0, end - passage.start) if (id, number - 1) == last else 0
        total += len(passage.text[repeated:].encode("utf-8", "surrogatepass"))
        last, end = (id, number), passage.start + len(passage.text)
    return total


def _part(path: Path) -> str:
    """The part that a file belongs to, which is no segment of the present version."""
    known = {PROJECTION: "projection", BM25: "bm25", PICTURES: "pictures"}
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

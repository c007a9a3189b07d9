"""Changes the number of shards: writes every document to its new shard, with bounded memory, and commits once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import ClusterManifest, ShardVersion
from maxsieve.cluster.shard import ShardDirectory, open_to_change
from maxsieve.cluster.sharding import MOST_SHARDS, shards_of
from maxsieve.common.checks import as_count
from maxsieve.storage.disk import DiskStorage, grouped
from maxsieve.storage.manifest import SegmentEntry
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Merge

MOST_OPEN = 64
"""The number of segments that are merged at a time. Each has open files, whose number per process is limited."""

Targets = list[list[NDArray[np.uint16]]]
Kept = tuple[StoredSegment, NDArray[np.bool_]]
"""The new shard of each document, by old shard and segment."""


def rebalance(folder: ShardedFolder, shards: int, *, run: Run = in_turn) -> None:
    """Distributes a corpus over another number of shards. Answers, order, metadata and sequence numbers stay the same.

    The old version stays current until the commit, and after a failure. Deleted documents are left out. Damaged data
    are not copied: all checksums are verified first.
    """
    count = as_count(shards, "shards", at_least=1, at_most=MOST_SHARDS)
    with folder.writing():
        old = folder.manifest
        targets = find_targets(folder.path, old, count)
        calls = {shard: (folder.path, old, targets, shard) for shard in range(count)}
        folder.commit(folder.change(gather_shard, calls, run), shards=count)


def find_targets(root: Path, corpus: ClusterManifest, shards: int) -> Targets:
    """The new shard of each document, two bytes for each. Verifies the checksums of all segments."""
    targets: Targets = []
    for version in corpus.shards:
        segments = open_to_change(root, version).segments
        for segment in segments:
            segment.verify_checksums()
        targets.append([shards_of(list(segment.ids), shards).astype(np.uint16) for segment in segments])
    return targets


def gather_shard(root: Path, old: ClusterManifest, targets: Targets, shard: int) -> ShardVersion:
    """Writes a new shard, segment by segment: all documents of the old shards that belong to it."""
    directory = ShardDirectory.empty(root, old, shard)
    with directory.writing():
        groups = grouped(_shares(root, old, targets, shard), MOST_OPEN)
        entries = [_write(directory, group) for group in groups]
        codebook = open_to_change(root, old.shards[0]).codebook
        extras = {} if codebook is None else {"codebook": directory.write_extra("codebook", codebook)}
        directory.commit(entries, old.id_type if entries else None, extras=extras)
    DiskStorage(directory).list_documents()
    return directory.written


def _shares(root: Path, old: ClusterManifest, targets: Targets, shard: int) -> Iterator[tuple[Kept, float]]:
    """The segments of the old shards with documents that belong to a new shard, and the bytes of these documents."""
    for version, some in zip(old.shards, targets, strict=True):
        for segment, target in zip(open_to_change(root, version).segments, some, strict=True):
            keep = segment.alive & (target == shard)
            if keep.any():
                yield (segment, keep), segment.nbytes * float(keep.mean())


def _write(directory: ShardDirectory, waiting: Sequence[Kept]) -> SegmentEntry:
    for segment, _ in waiting:
        segment.expect(scattered=True)
    segments, keep = zip(*waiting, strict=True)
    return directory.write(Merge(segments, keep))

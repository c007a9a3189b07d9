"""Changes that concern all documents of a corpus in shards, each in one commit: another number of shards, a codebook.

`rebalance` writes every document to its new shard, with bounded memory. Codebook and lists are bit for bit those of
one index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import MOST_SHARDS, ClusterManifest, ShardVersion, shards_of
from maxsieve.cluster.shard import ShardDirectory, code_shard, list_shard, open_to_change
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.common.checks import as_count
from maxsieve.common.threads import thread_count
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
        groups = grouped(_shares(root, old, targets, shard), MOST_OPEN, key=lambda kept: kept[0].entry.codebook)
        entries = [_write(directory, group) for group in groups]
        first = open_to_change(root, old.shards[0])
        extras = {} if first.codebook is None else {"codebook": directory.write_extra("codebook", first.codebook)}
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


def train_codebook(folder: ShardedFolder, *, run: Run = in_turn, encode: bool = True) -> None:
    """Trains the codebook of `Calibrated`, and makes the lists of all documents, in one commit.

    With ``encode``, documents of a store of residuals that await its codebook are encoded. This removes calibrations.
    To calibrate again, read their queries before (`ShardedSnapshot.calibrations`).
    """
    with folder.writing():
        whole = ShardedSnapshot(folder.path, folder.manifest).of(range(len(folder.manifest.shards)))
        book = whole.learn_codebook(thread_count(None), encode=encode)
        del whole  # files that are still mapped could not be removed on Windows
        calls = {i: (folder.path, version, book) for i, version in enumerate(folder.manifest.shards)}
        folder.commit(folder.change(code_shard, calls, run))


def list_documents(folder: ShardedFolder, *, run: Run = in_turn) -> None:
    """Makes the lists of documents that have none yet, if there is a codebook of lists, in one commit."""
    folder.compact(run, list_shard)

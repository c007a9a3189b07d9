"""Trains the codebook of a corpus in shards. It is bit for bit that of one index with the same documents."""

from __future__ import annotations

from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.shard import name_tokens_of_shard
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.common.threads import thread_count


def train_codebook(folder: ShardedFolder, *, run: Run = in_turn) -> None:
    """Trains the codebook of `Calibrated`, and assigns all tokens to its centroids, in one commit.

    This removes a calibration. To calibrate again, read its queries before (`ShardedSnapshot.calibration`).
    """
    with folder.writing():
        whole = ShardedSnapshot(folder.path, folder.manifest).of(range(len(folder.manifest.shards)))
        book = whole.learn_codebook(thread_count(None))
        del whole  # files that are still mapped could not be removed on Windows
        calls = {i: (folder.path, version, book) for i, version in enumerate(folder.manifest.shards)}
        folder.commit(folder.change(name_tokens_of_shard, calls, run))

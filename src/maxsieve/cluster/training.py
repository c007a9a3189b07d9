"""Trains the codebook of a corpus in shards, and makes lists. They are bit for bit those of one index."""

from __future__ import annotations

from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.shard import code_shard, list_shard
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.common.threads import thread_count


def train_codebook(folder: ShardedFolder, *, run: Run = in_turn) -> None:
    """Trains the codebook of `Calibrated`, and makes the lists of all documents, in one commit.

    This removes calibrations. To calibrate again, read their queries before (`ShardedSnapshot.calibrations`).
    """
    with folder.writing():
        whole = ShardedSnapshot(folder.path, folder.manifest).of(range(len(folder.manifest.shards)))
        book = whole.learn_codebook(thread_count(None))
        del whole  # files that are still mapped could not be removed on Windows
        calls = {i: (folder.path, version, book) for i, version in enumerate(folder.manifest.shards)}
        folder.commit(folder.change(code_shard, calls, run))


def list_documents(folder: ShardedFolder, *, run: Run = in_turn) -> None:
    """Makes the lists of documents that have none yet, if there is a codebook of lists, in one commit."""
    folder.compact(run, list_shard)

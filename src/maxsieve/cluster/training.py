"""Trains the codebook of a corpus in shards. It is bit for bit that of one index with the same documents."""

from __future__ import annotations

import numpy as np

from maxsieve import _core
from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.shard import name_tokens_of_shard, open_to_change
from maxsieve.common.threads import thread_count
from maxsieve.storage.codebook import Codebook, choose_tokens, gather_tokens, living_lengths


def train_codebook(folder: ShardedFolder, *, run: Run = in_turn) -> None:
    """Trains the codebook of `Calibrated`, and assigns all tokens to its centroids, in one commit.

    This removes a calibration. To calibrate again, read its queries before (`ShardedSnapshot.calibration`).
    """
    with folder.writing():
        book = learn_codebook(folder)
        calls = {i: (folder.path, version, book) for i, version in enumerate(folder.manifest.shards)}
        folder.commit(folder.change(name_tokens_of_shard, calls, run))


def learn_codebook(folder: ShardedFolder) -> Codebook:
    """The codebook that `Index.train_codebook` makes of the same documents in the same order.

    Tokens are numbered in the insertion order of their documents, in whichever shard these are. Shards are read one
    after the other.
    """
    root, corpus = folder.path, folder.manifest
    if not corpus.tokens:
        raise ValueError("there is no token to learn a codebook from: add documents first")
    every_length, every_number = [], []
    for version in corpus.shards:
        snapshot = open_to_change(root, version)
        every_length.append(living_lengths(snapshot.segments))
        every_number.append(snapshot.sequence)
    lengths = np.concatenate(every_length)
    came = np.argsort(np.concatenate(every_number), kind="stable")
    turns, before_end = choose_tokens(lengths[came])
    documents = came[turns]
    codes = np.empty((len(documents), _core.code_stride(corpus.dim)), np.int8)
    scale, start = np.empty(len(documents), np.float32), 0
    for version, some in zip(corpus.shards, every_length, strict=True):
        mine = np.flatnonzero((documents >= start) & (documents < start + len(some)))
        if len(mine):
            segments = open_to_change(root, version).segments
            codes[mine], scale[mine] = gather_tokens(segments, documents[mine] - start, before_end[mine])
        start += len(some)
    return Codebook.learn(corpus.dim, codes, scale, int(lengths.sum()), thread_count(None))

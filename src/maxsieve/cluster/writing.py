"""Adds vectors to shards: sends them in chunks, and commits once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Batch, Documents, FloatArray
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import ShardVersion
from maxsieve.cluster.running import Run
from maxsieve.cluster.shard import add_to_shard
from maxsieve.cluster.sharding import by_shard
from maxsieve.ids import Id, find_duplicate

CHUNK_BYTES = 64 << 20
"""The size of a chunk of vectors. The caller's process holds a few times as many bytes."""


def add(
    folder: ShardedFolder,
    run: Run,
    documents: Documents,
    ids: list[Id] | None,
    texts: list[str | None] | None,
    *,
    replace: bool,
    delete: list[Id],
    advance: Callable[[int], None],
) -> None:
    """Adds documents as `Index.add` does: all or none, in one commit. ``texts`` are metadata as JSON.

    Without ``ids``, the batches contain the ids; if they do not, documents are numbered from 0.
    """
    with folder.writing():
        there = folder.known(delete)
        if (unknown := next((one for one in delete if one not in there), None)) is not None:
            raise KeyError(f"delete: no document has the id {unknown!r}")
        addition = Addition(folder, run, replace, delete)
        try:
            addition.check(ids or [])
            count = 0
            for batch in documents.batches:
                named = batch.ids if ids is None else ids[count : count + len(batch.lengths)]
                if named is None:
                    named = list(range(count, count + len(batch.lengths)))
                elif ids is None:
                    addition.check(named)
                given = batch.texts if texts is None else texts[count : count + len(batch.lengths)]
                count += len(batch.lengths)
                _compare(count, ids, texts, complete=False)
                addition.take(list(rows_of(batch)), named, given)
                advance(len(batch.lengths))
            _compare(count, ids, texts, complete=True)
            addition.send(last=True)
            folder.commit(addition.made, sequence=addition.next_sequence)
        except BaseException:
            folder.discard([*addition.made.values(), *addition.replaced])
            raise
        folder.discard(addition.replaced)


def _compare(count: int, ids: list[Id] | None, texts: list[str | None] | None, *, complete: bool) -> None:
    for given, what in ((ids, "ids"), (texts, "metadata")):
        if given is not None and count > len(given):
            raise ValueError(f"there are more documents than the {len(given)} {what}")
        if given is not None and complete and count < len(given):
            raise ValueError(f"there are {count} documents but {len(given)} {what}")


class Addition:
    """Writes documents to shards in chunks. Each chunk starts from the versions that the chunk before has made.

    ``made`` has the newest version of each changed shard, and ``replaced`` has the intermediate versions before it.
    """

    def __init__(self, folder: ShardedFolder, run: Run, replace: bool, delete: list[Id]) -> None:
        self._folder, self._run, self._replace = folder, run, replace
        self._base = folder.manifest
        self._delete, self._gone = delete, set(delete)
        self._came: set[Id] = set()
        self._rows: list[FloatArray] = []
        self._ids: list[Id] = []
        self._texts: list[str | None] = []
        self._bytes = 0
        self.next_sequence = self._base.next_sequence
        self.made: dict[int, ShardVersion] = {}
        self.replaced: list[ShardVersion] = []

    def check(self, ids: list[Id]) -> None:
        """Raises an error for ids that can't be added. Ids that are already in the index are found by the shards."""
        if (both := next((one for one in ids if one in self._gone), None)) is not None:
            raise ValueError(f"ids: {both!r} is to be added and deleted at once")
        twice = (
            find_duplicate(ids) if len(set(ids)) < len(ids) else next((one for one in ids if one in self._came), None)
        )
        if twice is not None:
            raise ValueError(f"ids: {twice!r} occurs twice")
        here = self._base.id_type if self._base.documents else None
        if ids and here is not None and type(ids[0]).__name__ != here:
            raise TypeError(f"ids: this index has {here} ids, not {type(ids[0]).__name__}")
        if ids and self._came and type(ids[0]) is not type(next(iter(self._came))):
            raise TypeError("ids must be all str or all int, not a mixture")
        self._came.update(ids)

    def take(self, rows: list[FloatArray], ids: Sequence[Id], texts: Sequence[str | None] | None) -> None:
        """Takes the next documents, and sends them when there are enough for a chunk."""
        self._rows += rows
        self._ids += ids
        self._texts += [None] * len(ids) if texts is None else texts
        self._bytes += sum(array.nbytes for array in rows)
        if self._bytes >= CHUNK_BYTES:
            self.send(last=False)

    def send(self, *, last: bool) -> None:
        """Sends the collected documents to their shards, which make new versions. The last chunk also deletes."""
        count = len(self._base.shards)
        shares = by_shard(self._ids, count)
        gone = by_shard(self._delete, count) if last else {}
        nothing = np.zeros(0, np.int64)
        calls = {}
        for shard in sorted({*shares, *gone}):
            places = shares.get(shard, nothing)
            calls[shard] = (
                self._folder.path,
                self.made.get(shard, self._base.shards[shard]),
                _joined([self._rows[i] for i in places]),
                np.array([len(self._rows[i]) for i in places], np.int64),
                [self._ids[i] for i in places],
                [self._texts[i] for i in places],
                self.next_sequence + places,
                self._replace,
                [self._delete[i] for i in gone.get(shard, nothing)],
                1 if len(shares) > 1 else None,
            )
        new = self._folder.change(add_chunk, calls, self._run)
        self.replaced += [self.made[shard] for shard in new if shard in self.made]
        self.made |= new
        self.next_sequence += len(self._ids)
        self._rows, self._ids, self._texts, self._bytes = [], [], [], 0


def add_chunk(
    root: Any,
    base: ShardVersion,
    arrays: list[FloatArray],
    lengths: NDArray[np.int64],
    ids: list[Id],
    texts: list[str | None],
    sequence: NDArray[np.int64],
    replace: bool,
    delete: list[Id],
    threads: int | None,
) -> ShardVersion:
    """`add_to_shard` with arguments that can be pickled: arrays instead of batches."""
    documents = Documents(iter([Batch(arrays, lengths)] if len(lengths) else []), len(lengths), None)
    return add_to_shard(root, base, documents, ids, texts, sequence, replace=replace, delete=delete, threads=threads)


def _joined(rows: list[FloatArray]) -> list[FloatArray]:
    """One array of all rows, if they have one type. One array is sent faster than one for each document."""
    if len({array.dtype for array in rows}) != 1:
        return rows
    return [np.concatenate(rows)]


def rows_of(batch: Batch) -> Iterator[FloatArray]:
    """The rows of each document of a batch.

    >>> two = Batch([np.zeros((3, 4)), np.zeros((1, 4))], np.array([1, 2, 0, 1]))
    >>> [rows.shape for rows in rows_of(two)]
    [(1, 4), (2, 4), (0, 4), (1, 4)]
    """
    arrays = iter(batch.arrays)
    array, at = next(arrays, np.zeros((0, 1), np.float32)), 0
    for length in batch.lengths.tolist():
        while length and at == len(array):
            array, at = next(arrays), 0
        yield array[at : at + length]
        at += length

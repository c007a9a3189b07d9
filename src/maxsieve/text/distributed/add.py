"""Adds documents to a corpus in shards: collects encoded batches, and commits many of them at a time.

The stream of documents is split into batches. These are encoded in parallel (`encoders`), staged (`staged`), and
collected in the order of the stream, which determines the sequence numbers of the documents. In a commit, each shard
writes its documents from the staged batches. Then the new versions of all shards become visible at once, and the
batches are removed. So after a crash of any process at any time, the corpus has only complete commits, and the batches
that were encoded for the next commit are still staged.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.engine import Run, in_turn
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import ShardVersion, by_shard, shard_of
from maxsieve.cluster.ray_engine import RayEngine
from maxsieve.cluster.shard import append_to_shard, compact_shard, open_to_change, sequenced
from maxsieve.cluster.storage import ShardedStorage
from maxsieve.common.checks import as_count
from maxsieve.common.progress import Advance
from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Merge, Segment
from maxsieve.text.collection.additions import Added, Encode, batches, check_id_type, size_of, some_id, worth_merging
from maxsieve.text.collection.collection_encoder import CollectionEncoder
from maxsieve.text.distributed.encoders import (
    BatchEncoder,
    EncodeAll,
    Order,
    Outcome,
    RayEncoders,
    repeated_id_error,
)
from maxsieve.text.distributed.staged import Form, StagedBatch, open_staged, remove_oldest, remove_staged
from maxsieve.text.encoders.truncation_warning import add_cuts
from maxsieve.text.passages import Document

COMMIT_BYTES = 256 << 20
"""When the staged batches have this many bytes, they are committed. This limits the staged bytes."""

COMMIT_SECONDS = 120.0
"""Seconds after which staged batches are committed, even if they are few."""

COMMITS = 32
"""After every this many commits, shards with many small segments are compacted."""

MOST_WORKERS = 100_000

LEFT_BYTES = 2 << 30
"""Bytes of staged batches from interrupted additions that are kept at most. A complete addition removes all of them."""


def add_to_shards(
    index: Index,
    own: CollectionEncoder,
    documents: Iterator[Document],
    encode: Encode,
    *,
    workers: int | None,
    worker_options: Mapping[str, Any] | None,
    replace: bool,
    advance: Advance,
) -> Added:
    """Encodes documents and commits them. The caller holds the lock of the folder.

    Few documents, and those that a projection is fitted on, are encoded in this process. So are all if there are 0
    workers.
    """
    if workers is not None:
        workers = as_count(workers, "workers", at_least=0, at_most=MOST_WORKERS)
    storage = index.storage
    assert isinstance(storage, ShardedStorage)
    folder = storage.folder
    remove_oldest(folder.path, LEFT_BYTES)
    additions = Additions(folder, own, replace=replace, advance=advance)
    groups = batches(_checked(documents, folder, own), size_of)
    here = partial(map, BatchEncoder(folder, own, encode).run)
    while own.description.pending and (some := list(islice(groups, 1))):
        additions.run(some, here, in_turn)
    first = list(islice(groups, 2))
    if len(first) < 2 or workers == 0:
        additions.run(chain(first, groups), here, in_turn)
        folder.compact(in_turn, compact_if_worth)
    else:
        engine = storage.engine
        assert isinstance(engine, RayEngine)
        encoders = RayEncoders(engine.ray, folder.path, own.not_built_in, workers, worker_options)
        try:
            additions.run(chain(first, groups), encoders.encode, engine.run)
            folder.compact(engine.run, compact_if_worth)
        finally:
            encoders.close()
    remove_staged(folder.path)
    index.refresh()
    index.encode_if_enough()
    return additions.added


def _checked(documents: Iterator[Document], folder: ShardedFolder, own: CollectionEncoder) -> Iterator[Document]:
    """The same documents. Raises an error if their ids are of another type than those in the collection."""
    snapshot = folder.snapshot
    shard = next((i for i, version in enumerate(snapshot.manifest.shards) if version.documents), None)
    known = None if shard is None else some_id(snapshot.shard(shard), own.keys)
    for document in documents:
        check_id_type(known, document.id)
        known = document.id
        yield document


class BatchPart(NamedTuple):
    """The passages of a staged batch that belong to one shard, as places in the batch, and their sequence numbers."""

    batch: StagedBatch
    places: NDArray[np.int64]
    numbers: NDArray[np.int64]


@dataclass
class Change:
    """The change of one shard in a commit."""

    parts: list[BatchPart] = field(default_factory=list)
    delete: list[Id] = field(default_factory=list)


class Gathered(NamedTuple):
    """A staged batch before its commit, the ids of its documents to leave out, and the documents to replace."""

    batch: StagedBatch
    dropped: set[Id]
    replaces: dict[Id, int]


class Additions:
    """Collects encoded batches in order and commits them. The caller must hold the writer's lock."""

    def __init__(self, folder: ShardedFolder, own: CollectionEncoder, *, replace: bool, advance: Advance) -> None:
        self._folder, self._own, self._keys = folder, own, own.keys
        self._replace, self._advance = replace, advance
        self._first_sequence = folder.manifest.next_sequence
        self._gathered: list[Gathered] = []
        self._since = time.monotonic()
        self._waiting: dict[Id, str] = {}
        self._recent: deque[tuple[int, dict[Id, str]]] = deque()
        self._ordered = self._taken = self._commits = 0
        self.added = Added(0, 0, 0)

    def run(self, groups: Iterable[list[Document]], encode: EncodeAll, change: Run) -> None:
        """Encodes groups of documents, and commits the encoded batches; ``change`` runs the changes of shards."""
        for outcome in encode(self._orders(groups)):
            self._take(outcome)
            if self._enough():
                self._commit(change)
        if self._gathered:
            self._commit(change)

    def _orders(self, groups: Iterable[list[Document]]) -> Iterator[Order]:
        for group in groups:
            self._ordered += 1
            yield Order(group, self._replace, self._folder.manifest.generation, self._first_sequence)

    def _take(self, outcome: Outcome) -> None:
        """Takes the next batch in order. Its worker may not have seen the commits that were made after the order."""
        self._taken += 1
        if outcome.cuts is not None:
            add_cuts(outcome.cuts)
        while self._recent and self._recent[0][0] < self._taken:
            self._recent.popleft()
        added, skipped, replaced = self.added
        skipped += outcome.skipped
        batch = outcome.batch
        if batch is not None:
            dropped: set[Id] = set()
            for document in batch.documents:
                known = self._digest(document.id)
                if known is None:
                    self._waiting[document.id] = document.digest
                elif known == document.digest:
                    dropped.add(document.id)
                else:
                    raise repeated_id_error(document.id)
            again = sum(id not in dropped for id in outcome.replaces)
            replaced += again
            skipped += len(dropped)
            added += len(batch.documents) - len(dropped) - again
            if not self._gathered:
                self._since = time.monotonic()
            self._gathered.append(Gathered(batch, dropped, outcome.replaces))
        self._advance(
            outcome.skipped + (0 if batch is None else len(batch.documents)),
            0 if batch is None or outcome.reused else batch.tokens,
        )
        self.added = Added(added, skipped, replaced)

    def _digest(self, id: Id) -> str | None:
        """The digest of a document of this addition that is not committed yet, or was committed recently; else None."""
        for known in (self._waiting, *(ids for _, ids in self._recent)):
            if id in known:
                return known[id]
        return None

    def _enough(self) -> bool:
        if not self._gathered:
            return False
        nbytes = sum(gathered.batch.nbytes for gathered in self._gathered)
        return nbytes >= COMMIT_BYTES or time.monotonic() - self._since >= COMMIT_SECONDS

    def _commit(self, run: Run) -> None:
        """Commits all collected batches at once."""
        manifest = self._folder.manifest
        sequence = manifest.next_sequence
        changes: dict[int, Change] = {}
        shards = len(manifest.shards)
        for batch, dropped, replaces in self._gathered:
            keys = batch.keys(self._keys)
            kept = np.repeat(
                [document.id not in dropped for document in batch.documents],
                [document.passages for document in batch.documents],
            )
            places = np.flatnonzero(kept)
            for shard, some in by_shard([keys[place] for place in places], shards).items():
                part = BatchPart(batch, places[some], sequence + some)
                changes.setdefault(shard, Change()).parts.append(part)
            sequence += len(places)
            for document in batch.documents:
                if document.id in replaces and document.id not in dropped:
                    for number in range(document.passages, replaces[document.id]):
                        key = self._keys.key(document.id, number)
                        changes.setdefault(shard_of(key, shards), Change()).delete.append(key)
        root, form = self._folder.path, Form(manifest.layout, self._own.description)
        calls = {
            shard: (root, manifest.shards[shard], form, change, self._replace) for shard, change in changes.items()
        }
        made = self._folder.change(write_shard, calls, run)
        self._folder.commit(made, sequence=sequence)
        self._recent.append((self._ordered, self._waiting))
        remove_staged(root, [gathered.batch.name for gathered in self._gathered])
        self._gathered, self._waiting = [], {}
        self._commits += 1
        if self._commits % COMMITS == 0:
            self._folder.compact(run, compact_if_worth)


def write_shard(root: Path, base: ShardVersion, form: Form, change: Change, replace: bool) -> ShardVersion:
    """Makes a version of a shard with passages of staged batches. It can run in any process, and more than once."""
    segments: list[StoredSegment] = []
    masks: list[NDArray[np.bool_]] = []
    for part in change.parts:
        staged = open_staged(root, part.batch, form)
        ends = list(accumulate(segment.documents for segment in staged))
        wanted = np.zeros(ends[-1], np.bool_)
        wanted[part.places] = True
        segments += staged
        masks += np.split(wanted, ends[:-1])
    added: Segment | None = None
    if segments:
        numbers = np.concatenate([part.numbers for part in change.parts])
        added = sequenced(Merge(segments, masks).in_memory(), form.layout, numbers)
    return append_to_shard(root, base, added, replace, change.delete)


def compact_if_worth(root: Path, base: ShardVersion) -> ShardVersion:
    """Compacts a shard if it has many small segments, which small commits leave behind."""
    return compact_shard(root, base) if worth_merging(open_to_change(root, base).segments) else base

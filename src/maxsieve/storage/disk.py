"""An index on disk, as the library sees it: `Directory` keeps the files, this keeps the current snapshot of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import progress_bar
from maxsieve.ids import Id, positions_of
from maxsieve.storage.directory import Directory, MappedPart
from maxsieve.storage.manifest import Part
from maxsieve.storage.positions import JoinedIds, Positions, starts_of
from maxsieve.storage.segment_file import Source
from maxsieve.storage.segments import Segment
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.store import Addition, check_new, closed

SMALL_BYTES = 4 << 20
"""Segments below this at the end are folded together as more come: adding one by one leaves few files."""

LARGE_BYTES = 1 << 30
"""`compact` makes no segment larger than this, but for a single document that is."""


class DiskStore:
    """Follows a directory from version to version.

    Threads of this process take turns at writing; other processes meet the directory's lock. So does a generator of
    documents that writes to the index it is being added to.
    """

    def __init__(self, directory: Directory) -> None:
        self.guard = threading.Lock()
        self._turn = threading.RLock()
        self._directory = directory
        self._closed = False
        self._current = _state_of(directory)

    @property
    def snapshot(self) -> Snapshot:
        """The current state."""
        if self._closed:
            raise closed()
        return self._current.snapshot

    def positions(self, lookups: int = 1) -> Mapping[Id, int]:
        """Where each id of the current state stands: a dict where so many are asked for that it pays."""
        return self._current.positions.table(lookups)

    @contextmanager
    def adding(
        self, ids: list[Id] | None, records: Sequence[str | None] | None, replace: bool, stepwise: bool
    ) -> Iterator[Addition]:
        """Writes each segment as it comes. They become visible at the end or, stepwise, one after the other."""
        with self._writing():
            if ids is not None:
                check_new(ids, self.positions(len(ids)), self._id_type(), replace)
            addition = DiskAddition(ids, records)
            addition.write = lambda segment, first: self._write(addition, segment, first, stepwise)
            yield addition
            if not stepwise:
                self._commit_all(addition)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._writing():
            self._commit(self._without(positions_of(ids, self.positions(len(ids)), "delete")))

    def compact(self, progress: bool) -> None:
        """Merges neighbours and drops deleted documents. Every step commits: it can be interrupted at any point."""
        with self._writing(), progress_bar("compacting", len(self._directory.parts), shown=progress) as advance:
            entries = list(self._directory.manifest.parts)
            for group in _groups(self._directory.parts):
                if len(group) > 1 or not (group[0].alive.all() and group[0].entry.documents):
                    merged = [self._merge(group)] if any(part.alive.any() for part in group) else []
                    place = entries.index(group[0].entry)
                    entries[place : place + len(group)] = merged
                    self._commit(entries)
                    self._directory.remove_strays()
                advance(len(group))

    def refresh(self) -> None:
        """Goes to the newest version."""
        with self._turn:
            self.snapshot  # noqa: B018
            if self._directory.refresh():
                self._follow()

    def verify(self, progress: bool) -> None:
        """Reads every checksum of the version at hand."""
        with self._turn:
            self.snapshot  # noqa: B018
            with progress_bar("verifying", self._directory.nbytes, shown=progress) as advance:
                self._directory.verify(advance)

    def discard_if_empty(self) -> None:
        """Removes the index if nothing was ever committed to it."""
        self._directory.discard_if_empty()

    def close(self) -> None:
        """Lets go of everything."""
        with self._turn, self.guard:
            self._closed = True
            self._directory.release()
            self._current = _state_of(self._directory)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn:
            self.snapshot  # noqa: B018
            try:
                with self._directory.writing():
                    self._follow()
                    yield
            finally:
                self._follow()

    def _follow(self) -> None:
        """Makes the directory's version the current state."""
        if not self._closed and self._current.parts is not self._directory.parts:
            state = _state_of(self._directory)
            with self.guard:
                self._current = state

    def _write(self, addition: DiskAddition, segment: Segment, first: int, stepwise: bool) -> None:
        self.snapshot  # noqa: B018
        ids = addition.ids_of(first, segment.documents)
        records = addition.records_of(first, segment.documents)
        everything = Source(segment, np.ones(segment.documents, np.bool_))
        addition.entries.append(self._directory.write_part([everything], ids, records.items()))
        if stepwise:
            self._commit([*self._directory.manifest.parts, addition.entries[-1]], type(ids[0]))

    def _commit_all(self, addition: DiskAddition) -> None:
        ids = addition.ids_of(0, addition.documents)
        known = self.positions(len(ids))
        replaced = np.array([known[one] for one in ids if one in known], np.int64)
        parts = [self._directory.load(entry) for entry in (*self._without(replaced), *addition.entries)]
        while len(parts) > 1 and _worth_folding(*(part.mapped.segment.nbytes for part in parts[-2:])):
            parts[-2:] = [self._directory.load(self._merge(parts[-2:]))]
        self._commit([part.entry for part in parts], type(ids[0]) if ids else None)

    def _commit(self, entries: Sequence[Part], id_type: type | None = None) -> None:
        self.snapshot  # noqa: B018 - a generator of documents may have closed the index
        known = self._id_type() if id_type is None else id_type
        self._directory.commit(entries, None if known is None else known.__name__)
        self._follow()

    def _id_type(self) -> type | None:
        if not len(self._current.snapshot.live):
            return None
        return {"int": int, "str": str}.get(self._directory.manifest.id_type or "")

    def _without(self, gone: NDArray[np.int64]) -> list[Part]:
        """All parts, with tombstones for the documents at some positions."""
        entries, start = [], 0
        for part in self._directory.parts:
            local = gone[(gone >= start) & (gone < start + part.entry.documents)] - start
            start += part.entry.documents
            if len(local):
                alive = part.alive.copy()
                alive[local] = False
                entries.append(self._directory.without(part.entry, alive))
            else:
                entries.append(part.entry)
        return entries

    def _merge(self, parts: Sequence[MappedPart]) -> Part:
        """One part of the living documents of several, written but not committed. Damage is not carried over."""
        ids: list[Id] = []
        for part in parts:
            for file in part.files:
                file.verify(lambda _: None)
            ids += [one for one, alive in zip(part.mapped.ids.to_list(), part.alive.tolist(), strict=True) if alive]
        sources = [Source(part.mapped.segment, part.alive) for part in parts]
        return self._directory.write_part(sources, ids, _living_records(parts))


@dataclass
class DiskAddition(Addition):
    """An addition whose segments are on disk as soon as they are full."""

    entries: list[Part] = field(default_factory=list)
    write: Callable[[Segment, int], None] = field(init=False)

    def emit(self, segment: Segment) -> None:
        """Writes a segment; it need not stay in memory."""
        self.write(segment, self.documents)
        self.documents += segment.documents


class State(NamedTuple):
    """What the directory's parts amount to."""

    snapshot: Snapshot
    positions: Positions
    parts: tuple[MappedPart, ...]


def _state_of(directory: Directory) -> State:
    parts = directory.parts
    starts = starts_of(parts)

    def records(positions: list[int]) -> list[Any]:
        found: dict[int, Any] = {}
        for start, part in zip(starts, parts, strict=True):
            local = [i - start for i in positions if 0 <= i - start < part.entry.documents]
            if part.records is not None and local:
                found |= {start + i: record for i, record in part.records.get(local).items()}
        return [found.get(i) for i in positions]

    alive = np.concatenate([np.zeros(0, np.bool_), *(part.alive for part in parts)])
    segments = tuple(part.mapped.segment for part in parts)
    manifest = directory.manifest
    texts = "-".join(f"{part.entry.records_crc:08x}" for part in parts)  # a restored index may use a number again
    version = f"{manifest.uid}-{manifest.generation}-{texts}"
    snapshot = Snapshot(manifest.dim, segments, alive, JoinedIds(parts), records, version)
    return State(snapshot, Positions(starts, parts), parts)


def _groups(parts: Sequence[MappedPart]) -> Iterator[list[MappedPart]]:
    """Neighbours that are to become one segment."""
    group: list[MappedPart] = []
    size = 0.0
    for part in parts:
        living = part.mapped.segment.nbytes * (float(part.alive.mean()) if len(part.alive) else 0.0)
        if group and size + living > LARGE_BYTES:
            yield group
            group, size = [], 0.0
        group.append(part)
        size += living
    if group:
        yield group


def _worth_folding(before: int, last: int) -> bool:
    return 2 * last >= before and before + last <= SMALL_BYTES


def _living_records(parts: Sequence[MappedPart]) -> Iterator[tuple[int, str]]:
    start = 0
    for part in parts:
        new = start + np.cumsum(part.alive) - 1
        if part.records is not None:
            for old, text in part.records.items():
                if part.alive[old]:
                    yield int(new[old]), text
        start += int(part.alive.sum())

"""An index in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.threads import thread_count
from maxsieve.ids import Id, positions_of
from maxsieve.storage.calibration import NO_CHANGES, Changes
from maxsieve.storage.segments import Segment, Store, block_kinds, living, merge_small
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Addition, check_new, closed


class MemoryStorage:
    """Segments as arrays, and a dict from ids to positions, which is updated with each change."""

    def __init__(self, dim: int, store: Store) -> None:
        self.guard = threading.Lock()
        self._dim, self._kinds = dim, block_kinds(dim, store)
        self._writing = threading.Lock()
        self._positions: dict[Id, int] = {}
        self._described: Snapshot | None = None
        self._snapshot: Snapshot | None = Snapshot(dim, ())

    @property
    def snapshot(self) -> Snapshot:
        """The current state."""
        if self._snapshot is None:
            raise closed()
        return self._snapshot

    def copy(self) -> MemoryStorage:
        """Another storage with the same documents. Later changes of one do not affect the other."""
        other = object.__new__(MemoryStorage)
        other.__setstate__(self.__getstate__())
        return other

    def __getstate__(self) -> dict[str, Any]:
        """The current state: all vectors, by value."""
        return {"dim": self._dim, "kinds": self._kinds, "snapshot": self.snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.guard, self._writing = threading.Lock(), threading.Lock()
        self._dim, self._kinds, self._snapshot = state["dim"], state["kinds"], state["snapshot"]
        self._positions, self._described = {}, None

    def positions(self, lookups: int = 1) -> dict[Id, int]:
        """The position of each id in the current state.

        The dict is updated with each change. It is made again if it does not fit the state: after `compact`, or if
        Ctrl-C interrupted a change.
        """
        state = self.snapshot
        if self._described is not state:
            self._positions = dict(zip(state.live_ids(), state.live.tolist(), strict=True))
            self._described = state
        return self._positions

    @contextmanager
    def adding(
        self,
        ids: list[Id] | None,
        texts: Sequence[str | None] | None,
        replace: bool,
        delete: list[Id],
        stepwise: bool,
    ) -> Iterator[Addition]:
        """All documents become visible at the end. No lock is held before: a generator of them may use this index."""
        if ids is not None:
            self._check(ids, replace, delete)
        segments: list[Segment] = []
        addition = Addition(
            ids, texts, self._dim, self._kinds, segments.append, lambda some: self._check(some, replace, delete)
        )
        yield addition
        with self._writing:
            self._check(addition.ids, replace, delete)
            self._commit(segments, addition.ids, delete)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._writing, self.guard:
            state, known = self.snapshot, self.positions()
            gone = positions_of(ids, known, "delete")
            changed = _changed(state, _without(state, gone), deleted=len(gone))
            self._described = None
            for one in set(ids):
                del known[one]
            self._snapshot = self._described = changed

    def compact(self, progress: bool) -> None:
        """Frees the memory of deleted documents."""
        with self._writing:
            state = self.snapshot
            segments: list[Segment] = []
            for segment in state.segments:
                if segment.alive.any():
                    segments.append(segment if segment.alive.all() else living([segment]).in_memory())
                segments = merge_small(segments)
            with self.guard:
                self._snapshot = _changed(state, segments)

    def replace_tiers(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Takes codebook, centroids and calibration from the snapshot that ``change`` makes of the current one."""
        with self._writing:
            state = self.snapshot
            changed = change(state)
            with self.guard:
                if self._described is state:  # the documents are the same, and at the same positions
                    self._described = changed
                self._snapshot = changed

    def refresh(self) -> None:
        """Nothing to do: nobody else writes here."""
        self.snapshot  # noqa: B018

    def verify(self, progress: bool) -> None:
        """Does nothing: memory is not checked."""
        self.snapshot  # noqa: B018

    def discard_if_empty(self) -> None:
        """Nothing to remove."""

    def close(self) -> None:
        """Releases everything."""
        with self._writing, self.guard:
            self._snapshot = self._described = None
            self._positions = {}

    def _check(self, ids: list[Id], replace: bool, delete: list[Id]) -> None:
        with self.guard:
            known = self.positions()
            present = next(iter(known), None)
            check_new(ids, known, None if present is None else type(present), replace, delete)

    def _commit(self, new: list[Segment], ids: list[Id], delete: list[Id]) -> None:
        state = self.snapshot
        first = len(state.alive)
        with self.guard:
            known = self.positions()
            gone = np.array(sorted(known[one] for one in {*ids, *delete} if one in known), np.int64)
        if state.codebook is not None:
            new = [state.codebook.name_tokens(segment, thread_count(None)) for segment in new]
        segments = merge_small([*_without(state, gone), *new])
        with self.guard:
            self._described = None
            for one in set(delete):
                del known[one]
            known.update(zip(ids, range(first, first + len(ids)), strict=True))
            self._snapshot = self._described = _changed(state, segments, added=len(ids), deleted=len(gone))


def _changed(state: Snapshot, segments: Sequence[Segment], *, added: int = 0, deleted: int = 0) -> Snapshot:
    """The next state."""
    changes = Changes(state.changes.added + added, state.changes.deleted + deleted)
    return replace(state, segments=segments, changes=NO_CHANGES if state.calibration is None else changes)


def _without(state: Snapshot, gone: NDArray[np.int64]) -> list[Segment]:
    """The segments of a state with the documents at some positions deleted."""
    if not len(gone):
        return list(state.segments)
    return [
        segment.changed(alive=segment.alive_without(places)) if len(places) else segment
        for segment, places in state.by_segment(gone)
    ]

"""An index in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from maxsieve.ids import Id, positions_of
from maxsieve.storage.segments import Segment, merge_small
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.store import Addition, check_new, closed


class MemoryStore:
    """Segments as arrays, ids as a list, metadata as JSON texts by position."""

    def __init__(self, dim: int) -> None:
        self.guard = threading.Lock()
        self._writing = threading.Lock()
        self._positions: dict[Id, int] = {}
        self._described: Snapshot | None = None
        self._snapshot: Snapshot | None = self._make(dim, (), np.zeros(0, np.bool_), [], {})

    @property
    def snapshot(self) -> Snapshot:
        """The current state."""
        if self._snapshot is None:
            raise closed()
        return self._snapshot

    def positions(self, lookups: int = 1) -> dict[Id, int]:
        """Where each id of the current state stands.

        The dict is carried from state to state, and made anew where it describes another: after `compact`, or when a
        Ctrl-C fell into the midst of a change.
        """
        state = self.snapshot
        if self._described is not state:
            self._positions = {state.ids[i]: i for i in state.live.tolist()}
            self._described = state
        return self._positions

    @contextmanager
    def adding(
        self, ids: list[Id] | None, records: Sequence[str | None] | None, replace: bool, stepwise: bool
    ) -> Iterator[Addition]:
        """All become visible at the end. No lock is held before: the generator of documents may use this index."""
        if ids is not None:
            self._check(ids, replace)
        addition = Addition(ids, records)
        yield addition
        new = addition.ids_of(0, addition.documents)
        with self._writing:
            self._check(new, replace)
            self._commit(addition, new)

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""
        with self._writing, self.guard:
            state, known = self.snapshot, self.positions()
            alive = state.alive.copy()
            alive[positions_of(ids, known, "delete")] = False
            self._described = None
            for one in set(ids):
                del known[one]
            self._snapshot = self._described = self._make(state.dim, state.segments, alive, self._ids, self._texts)

    def compact(self, progress: bool) -> None:
        """Gives back the memory of deleted documents."""
        with self._writing:
            state = self.snapshot
            segments: list[Segment] = []
            start = 0
            for segment in state.segments:
                alive = state.alive[start : start + segment.documents]
                start += segment.documents
                if alive.all():
                    segments.append(segment)
                elif alive.any():
                    segments.append(segment.keep(alive))
                segments = merge_small(segments)
            live = state.live.tolist()
            ids = [self._ids[i] for i in live]
            texts = {new: self._texts[old] for new, old in enumerate(live) if old in self._texts}
            with self.guard:
                self._snapshot = self._make(state.dim, tuple(segments), np.ones(len(ids), np.bool_), ids, texts)

    def refresh(self) -> None:
        """Nothing to do: nobody else writes here."""
        self.snapshot  # noqa: B018

    def verify(self, progress: bool) -> None:
        """Nothing can have happened to it."""
        self.snapshot  # noqa: B018

    def discard_if_empty(self) -> None:
        """Nothing to remove."""

    def close(self) -> None:
        """Lets go of everything."""
        with self._writing, self.guard:
            self._snapshot = self._described = None
            self._positions = {}

    def _check(self, ids: list[Id], replace: bool) -> None:
        with self.guard:
            known = self.positions()
            present = next(iter(known), None)
            check_new(ids, known, None if present is None else type(present), replace)

    def _commit(self, addition: Addition, ids: list[Id]) -> None:
        state = self.snapshot
        first = len(state.alive)
        merged = tuple(merge_small([*state.segments, *addition.segments]))
        alive = np.concatenate([state.alive, np.ones(len(ids), np.bool_)])
        with self.guard:
            known = self.positions()
            alive[[known[one] for one in ids if one in known]] = False
            self._ids[first:] = ids
            if self._texts:  # an interrupted addition may have left some here
                for i in range(len(ids)):
                    self._texts.pop(first + i, None)
            self._texts.update({first + i: text for i, text in addition.records_of(0, len(ids)).items()})
            self._described = None
            known.update(zip(ids, range(first, first + len(ids)), strict=True))
            self._snapshot = self._described = self._make(state.dim, merged, alive, self._ids, self._texts)

    def _make(self, dim: int, segments: Any, alive: Any, ids: list[Id], texts: dict[int, str]) -> Snapshot:
        self._ids, self._texts = ids, texts

        def records(positions: list[int]) -> list[Any]:
            return [json.loads(texts[i]) if i in texts else None for i in positions]

        return Snapshot(dim, segments, alive, ids, records)

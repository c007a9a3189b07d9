"""One state of an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.ids import Id
from maxsieve.storage.segments import Segment


class IdsByPosition(Protocol):
    """A list of ids, or what reads like one."""

    def __getitem__(self, position: int, /) -> Id:
        """The id at a position."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of an index, never changed: a search that holds it sees nothing of later adds and deletes.

    ``ids`` may grow behind a snapshot's back; it looks only at the positions it knows. ``records(positions)`` are the
    metadata of some documents, None for those that have none. ``version`` names the state of an index on disk: whatever
    was made from it is out of date when the index has another.
    """

    dim: int
    segments: tuple[Segment, ...]
    alive: NDArray[np.bool_]
    ids: IdsByPosition
    records: Callable[[list[int]], list[Any]]
    version: str = ""

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The engine's view."""
        return _core.Corpus(self.dim, tuple(segment.native for segment in self.segments))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, by position."""
        return np.concatenate([np.zeros(0, np.int64), *(np.diff(segment.offsets) for segment in self.segments)])

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """Positions of documents that were not deleted."""
        return np.flatnonzero(self.alive)

    @cached_property
    def searchable(self) -> NDArray[np.int64]:
        """Positions of documents that can be a hit: live and not empty."""
        return np.flatnonzero(self.alive & (self.lengths > 0))

    def vectors(self, position: int) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of the rows of the document at a position."""
        for segment in self.segments:
            if position < segment.documents:
                first, last = segment.offsets[position : position + 2]
                rows: NDArray[np.float32] | NDArray[np.float16] = segment.rows[first:last].copy()
                return rows
            position -= segment.documents
        raise AssertionError("a position lies in some segment")

"""What an index needs of its storage, in memory or on disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from maxsieve.errors import ClosedIndexError
from maxsieve.ids import Id, find_duplicate
from maxsieve.storage.segments import Segment
from maxsieve.storage.snapshot import Snapshot


@dataclass
class Addition:
    """Documents on their way in: the store is handed each segment as soon as it is full, in order.

    ``ids`` is None for a build that numbers its documents; ``records`` are JSON texts, or None for none at all.
    """

    ids: list[Id] | None
    records: Sequence[str | None] | None
    segments: list[Segment] = field(default_factory=list)
    documents: int = 0

    def emit(self, segment: Segment) -> None:
        """Takes a segment."""
        self.segments.append(segment)
        self.documents += segment.documents

    def check(self, count: int, *, complete: bool) -> None:
        """Compares the number of documents that have come with the ids and records that are there for them."""
        for given, what in ((self.ids, "ids"), (self.records, "metadata")):
            if given is not None and count > len(given):
                raise ValueError(f"there are more documents than the {len(given)} {what}")
            if given is not None and complete and count < len(given):
                raise ValueError(f"there are {count} documents but {len(given)} {what}")

    def ids_of(self, first: int, count: int) -> list[Id]:
        """The ids of some of the new documents."""
        return list(range(first, first + count)) if self.ids is None else self.ids[first : first + count]

    def records_of(self, first: int, count: int) -> dict[int, str]:
        """The records of some of the new documents, counted from the first of those."""
        given = [] if self.records is None else self.records[first : first + count]
        return {i: record for i, record in enumerate(given) if record is not None}


class IndexStore(Protocol):
    """Holds the current snapshot and replaces it.

    ``guard`` is held for moments only: to read or to replace snapshot and positions together.
    """

    guard: threading.Lock

    @property
    def snapshot(self) -> Snapshot:
        """The current state; `ClosedIndexError` after `close`."""

    def positions(self, lookups: int = 1) -> Mapping[Id, int]:
        """Where each id of the current state stands, for so many lookups. Call it under the guard."""

    def adding(
        self, ids: list[Id] | None, records: Sequence[str | None] | None, replace: bool, stepwise: bool
    ) -> AbstractContextManager[Addition]:
        """Commits what the addition was handed when the block ends well; forgets it when it fails.

        ``stepwise`` allows a store to commit each segment as it comes, and to keep those when a later one fails.
        """

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""

    def compact(self, progress: bool) -> None:
        """Gives back what deleted documents take."""

    def refresh(self) -> None:
        """Goes to the newest state."""

    def verify(self, progress: bool) -> None:
        """Looks for damage."""

    def discard_if_empty(self) -> None:
        """Removes from disk an index that a failed build has left without a document."""

    def close(self) -> None:
        """Lets go of everything."""


def check_new(ids: list[Id], known: Mapping[Id, int], id_type: type | None, replace: bool) -> None:
    """Refuses ids that can't be added to an index with ids ``known``."""
    if (twice := find_duplicate(ids)) is not None:
        raise ValueError(f"ids: {twice!r} occurs twice")
    if ids and id_type is not None and type(ids[0]) is not id_type:
        raise TypeError(f"ids: this index has {id_type.__name__} ids, not {type(ids[0]).__name__}")
    if not replace and (old := next((one for one in ids if one in known), None)) is not None:
        raise ValueError(f"ids: {old!r} is in the index already; replace=True replaces it")


def closed() -> ClosedIndexError:
    """What a closed store answers."""
    return ClosedIndexError("this index is closed")

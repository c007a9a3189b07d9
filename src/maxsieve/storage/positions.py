"""The positions of ids in an index on disk, across its segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, compress, count

from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.segment_file import StoredSegment

LOOKUPS, LOOKUPS_SHARE = 256, 64
"""Up to 256 ids, or a 64th of all, are searched for in the files. For more, all ids are read into a dict."""


class Positions(Mapping[Id, int]):
    """Positions of ids: looked up in the files one by one, until reading all of them would have been faster."""

    def __init__(self, segments: Sequence[StoredSegment]) -> None:
        self._segments = segments
        self._starts = list(accumulate((segment.documents for segment in segments), initial=0))
        self._patience = max(LOOKUPS, self._starts[-1] // LOOKUPS_SHARE)
        self._all: dict[Id, int] | None = None

    def __getitem__(self, wanted: Id) -> int:
        return self._find(wanted) if self._all is None else self._all[wanted]

    def table(self, lookups: int) -> Mapping[Id, int]:
        """The table for this many lookups: the files, or a dict of all ids if that is cheaper."""
        self._patience -= lookups
        if self._all is None and self._patience < 0:
            self._all = self.read()
        return self if self._all is None else self._all

    def read(self) -> dict[Id, int]:
        """All positions; an id of two documents is damage."""
        everything = dict(self._items())
        if len(everything) != len(self):
            raise DamagedIndexError(f"{self._segments[0].file.path.parent} has two documents with the same id")
        return everything

    def __iter__(self) -> Iterator[Id]:
        return (id for id, _ in self._items())

    def __len__(self) -> int:
        return sum(int(segment.alive.sum()) for segment in self._segments)

    def _find(self, wanted: Id) -> int:
        for start, segment in zip(self._starts, self._segments, strict=False):
            place = segment.ids.find(wanted)
            if place is not None and segment.alive[place]:
                return start + place
        raise KeyError(wanted)

    def _items(self) -> Iterator[tuple[Id, int]]:
        for start, segment in zip(self._starts, self._segments, strict=False):
            yield from compress(zip(segment.ids, count(start)), segment.alive.tolist())

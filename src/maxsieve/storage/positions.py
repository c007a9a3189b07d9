"""Ids of an index on disk: from position to id and back, across its parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, compress, count

from maxsieve.ids import Id
from maxsieve.storage.directory import MappedPart

LOOKUPS, LOOKUPS_SHARE = 256, 64
"""So many ids, or one in so many of all, are searched for in the files; for more, all ids are read into a dict."""


class Positions(Mapping[Id, int]):
    """Where ids stand, found in the files one by one, until so many were asked for that reading them all is cheaper."""

    def __init__(self, starts: Sequence[int], parts: Sequence[MappedPart]) -> None:
        self._starts, self._parts = starts, parts
        self._patience = max(LOOKUPS, sum(len(part.alive) for part in parts) // LOOKUPS_SHARE)
        self._all: dict[Id, int] | None = None

    def __getitem__(self, one: Id) -> int:
        table = self.table(1)
        return self._find(one) if table is self else table[one]

    def table(self, lookups: int) -> Mapping[Id, int]:
        """What to ask for so many ids: the files, or a dict of all once that is cheaper."""
        self._patience -= lookups
        if self._all is None and self._patience < 0:
            self._all = dict(self._items())
        return self if self._all is None else self._all

    def __iter__(self) -> Iterator[Id]:
        return (one for one, _ in self._items())

    def __len__(self) -> int:
        return sum(int(part.alive.sum()) for part in self._parts)

    def _find(self, one: Id) -> int:
        for start, part in zip(self._starts, self._parts, strict=True):
            place = part.mapped.ids.find(one)
            if place is not None and part.alive[place]:
                return start + place
        raise KeyError(one)

    def _items(self) -> Iterator[tuple[Id, int]]:
        for start, part in zip(self._starts, self._parts, strict=True):
            yield from compress(zip(part.mapped.ids.to_list(), count(start)), part.alive.tolist())


class JoinedIds:
    """The ids of several parts, by position."""

    def __init__(self, parts: Sequence[MappedPart]) -> None:
        self._starts, self._parts = starts_of(parts), parts

    def __getitem__(self, position: int) -> Id:
        part = bisect_right(self._starts, position) - 1
        return self._parts[part].mapped.ids[position - self._starts[part]]


def starts_of(parts: Sequence[MappedPart]) -> list[int]:
    """The position of each part's first document."""
    return list(accumulate((part.entry.documents for part in parts[:-1]), initial=0)) if parts else []

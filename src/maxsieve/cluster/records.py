"""Looks up the metadata of documents by id in the mapped shards of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from maxsieve.cluster.folder import Opened, ShardedFolder
from maxsieve.cluster.sharding import shard_of
from maxsieve.errors import StaleVersionError
from maxsieve.ids import Id
from maxsieve.storage.segment_file import StoredSegment

ATTEMPTS = 5
"""If the files of a version have been removed, a newer version is tried. At most this many versions are tried."""


class CorpusRecords:
    """Looks up ids in the current version of a folder. Shards are mapped when they are first used.

    Ids are looked up in the files, so that memory does not grow with the number of lookups.
    """

    def __init__(self, folder: ShardedFolder) -> None:
        self._folder = folder

    def __contains__(self, one: object, /) -> bool:
        return isinstance(one, (str, int)) and not isinstance(one, bool) and self._find(one) is not None

    def known_metadata(self, ids: Iterable[Id]) -> dict[Id, Any]:
        """The metadata of the ids that are in the corpus; None for a document without metadata."""
        known: dict[Id, Any] = {}
        for one in ids:
            if (found := self._find(one)) is not None:
                segment, place = found
                known[one] = segment.metadata.read([place]).get(place)
        return known

    def sequence(self, one: Id) -> int:
        """The sequence number of a document; `KeyError` if it is not in the corpus."""
        if (found := self._find(one)) is None:
            raise KeyError(one)
        segment, place = found
        segment.check()
        return int(segment.sequence[place])

    def _find(self, one: Id) -> tuple[StoredSegment, int] | None:
        for segment in self._segments(one):
            place = segment.ids.find(one)
            if place is not None and segment.alive[place]:
                return segment, place
        return None

    def _segments(self, one: Id) -> Sequence[StoredSegment]:
        """The segments of the shard that an id belongs to."""
        for _ in range(ATTEMPTS - 1):
            with suppress(StaleVersionError):
                return self._shard(one).version.segments
            self._folder.refresh()
        return self._shard(one).version.segments

    def _shard(self, one: Id) -> Opened:
        return self._folder.shard(shard_of(one, len(self._folder.manifest.shards)))

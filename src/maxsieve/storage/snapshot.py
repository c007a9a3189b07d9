"""One version of an index, as searches read it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id, positions_of
from maxsieve.storage.blocks import BlockFile
from maxsieve.storage.calibration import NO_CHANGES, Calibration, Changes, calibration_for
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.listing import count_sealed, list_segments, whole_parts
from maxsieve.storage.lists import SegmentLists
from maxsieve.storage.positions import Positions
from maxsieve.storage.segment_file import StoredSegment
from maxsieve.storage.segments import Layout, S, Segment, living
from maxsieve.where import Where

Lookup: TypeAlias = "Callable[[Snapshot], AbstractContextManager[Mapping[Id, int]]]"
"""The positions of all ids of a snapshot, as a dict that nobody changes inside of the block."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version of an index, whose segments are in this process. It never changes: a search sees no later change.

    A document's position counts all documents before it, including deleted ones. ``version`` identifies the documents
    of an index on disk; a calibration does not change it. Data that were derived from the documents are out of date if
    the index has another version. ``changes`` are those since the calibrations. ``kept`` of the documents that are not
    deleted were there at that time: the first ones.
    """

    layout: Layout
    segments: Sequence[Segment]
    version: str = ""
    codebook: Codebook | None = None
    calibrations: tuple[Calibration, ...] = ()
    changes: Changes = NO_CHANGES
    kept: int | None = None
    lookup: Lookup | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without fields that can be computed from the others, and without the lookup, which has a lock."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"lookup": None}

    @property
    def here(self) -> Snapshot:
        """All documents as one snapshot in this process: the snapshot itself."""
        return self

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self.layout.dim

    @property
    def calibration(self) -> Calibration | None:
        """The calibration for searches of all documents."""
        return calibration_for(None, self.calibrations)

    @property
    def since(self) -> int:
        """Documents from this number on, in insertion order, were added after the calibrations.

        Version 2 of the format did not store it. Then at most ``changes.added`` of the last documents are new.
        """
        kept = max(0, len(self.live) - self.changes.added) if self.kept is None else self.kept
        return int(self.live[kept]) if kept < len(self.live) else self.starts[-1]

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return len(self.live)

    @property
    def n_searchable(self) -> int:
        """The number of documents that can be hits."""
        return len(self.searchable)

    @property
    def n_tokens(self) -> int:
        """The number of token vectors of all documents."""
        return int(self.lengths[self.alive].sum())

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, codes and bounds, including those of deleted documents."""
        return sum(segment.nbytes for segment in self.segments)

    @property
    def id_type(self) -> type | None:
        """The type of its ids; None without documents."""
        for segment in self.segments:
            if segment.alive.any():
                return type(segment.ids[int(segment.alive.argmax())])
        return None

    def known(self, ids: Sequence[Id]) -> dict[Id, int]:
        """The positions of those ids that are there."""
        with self._table(len(ids)) as table:
            return {id: place for id in ids if (place := table.get(id)) is not None}

    def positions(self, ids: list[Id], what: str) -> NDArray[np.int64]:
        """The positions of ids, ascending, without repeats. An unknown id is a `KeyError` that begins with ``what``."""
        with self._table(len(ids)) as table:
            return positions_of(ids, table, what)

    def _table(self, lookups: int) -> AbstractContextManager[Mapping[Id, int]]:
        if self.lookup is not None:
            return self.lookup(self)
        table = self._known_positions
        return nullcontext(table.table(lookups) if isinstance(table, Positions) else table)

    @cached_property
    def _known_positions(self) -> Mapping[Id, int]:
        stored = [segment for segment in self.segments if isinstance(segment, StoredSegment)]
        if len(stored) == len(self.segments):
            return Positions(stored)
        table = dict(zip(self.live_ids(), self.live.tolist(), strict=True))  # a version that is not written yet
        if len(table) != len(self.live):
            raise DamagedIndexError("two documents have the same id")
        return table

    def orders(self, ids: Iterable[Id]) -> dict[Id, int]:
        """The numbers of those ids that are there, in insertion order."""
        known = self.known(list(ids))
        numbers = self.numbers(np.array(list(known.values()), np.int64))
        return dict(zip(known, numbers.tolist(), strict=True))

    @property
    def corpus(self) -> _core.Corpus:
        """The engine's view, after a check that no file was truncated."""
        self.check()
        return self._corpus

    @cached_property
    def _files(self) -> list[BlockFile]:
        """The mapped files that a search reads, each once: many segments may have the same codebook."""
        found = [file for segment in self.segments for file in segment.files]
        others = (self.codebook, *(lists for _, lists in self.lists))
        found += [one.file for one in others if one is not None and one.file is not None]
        return list(dict.fromkeys(found))

    def check(self) -> None:
        """Raises an error if a file was truncated."""
        for file in self._files:
            file.check()

    def expect(self, *, scattered: bool) -> None:
        """Says whether the next search reads the vectors of few documents, or of many in order."""
        for segment in self.segments:
            segment.expect(scattered=scattered)

    @cached_property
    def _corpus(self) -> _core.Corpus:
        book, natives = self.codebook, tuple(segment.native for segment in self.segments)
        if book is None or book.is_tier0:
            return _core.Corpus(self.layout.dim, natives, None if book is None else book.native)
        parts = tuple(lists.native for _, lists in self.lists)
        return _core.Corpus(
            self.layout.dim, natives, None, _core.Lists(book.native, parts, [at for at, _ in self.lists])
        )

    @cached_property
    def lists(self) -> list[tuple[int, SegmentLists]]:
        """The lists of its documents, part by part, each with the position of its first document."""
        return [(self.starts[first], lists) for first, lists in whole_parts(self.segments)]

    @cached_property
    def lacks_lists(self) -> bool:
        """Whether there are documents that could have lists and have none. Those of an older codebook can't."""
        listed = {first + i for first, lists in whole_parts(self.segments) for i in range(lists.segments)}
        book = self.codebook
        if book is None or book.is_tier0:
            return False
        others = (segment for i, segment in enumerate(self.segments) if i not in listed and book.fits(segment))
        return any((segment.alive & (segment.lengths > 0)).any() for segment in others)

    def numbers(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of documents in insertion order: their positions or, in shards, their sequence numbers."""
        return self.sequence[positions] if self.layout.sequenced else positions

    def count_from(self, number: int) -> int:
        """How many documents were added from this number on, in insertion order."""
        return int((self.numbers(self.live) >= number).sum())

    def added_since(self, since: int) -> _core.Candidates:
        """The documents that can be hits and were added from this number on, in insertion order, or have no lists."""
        if since not in self._added:
            new = self.numbers(np.arange(self.starts[-1])) >= since
            if self.codebook is not None and not self.codebook.is_tier0:
                unlisted = np.ones(self.starts[-1], np.bool_)
                for first, lists in self.lists:
                    unlisted[first : first + lists.documents] = False
                new |= unlisted
            self._added.clear()
            self._added[since] = _core.Candidates(self.searchable[new[self.searchable]])
        return self._added[since]

    @cached_property
    def _added(self) -> dict[int, _core.Candidates]:
        return {}

    @cached_property
    def all_searchable(self) -> _core.Candidates:
        """`searchable` for the engine, checked once."""
        return _core.Candidates(self.searchable)

    @cached_property
    def starts(self) -> list[int]:
        """The position of each segment's first document, and the number of all documents."""
        return list(accumulate((segment.documents for segment in self.segments), initial=0))

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Whether each document is alive (not deleted), by position."""
        return np.concatenate([np.zeros(0, np.bool_), *(segment.alive for segment in self.segments)])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, by position."""
        return np.concatenate([np.zeros(0, np.int64), *(segment.lengths for segment in self.segments)])

    @cached_property
    def sequence(self) -> NDArray[np.int64]:
        """The insertion order of each document in the whole corpus, by position. Only for shards."""
        self.check()
        return np.concatenate([np.zeros(0, np.int64), *(segment.sequence for segment in self.segments)])

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """Positions of documents that were not deleted."""
        return np.flatnonzero(self.alive)

    @cached_property
    def searchable(self) -> NDArray[np.int64]:
        """Positions of documents that can be a hit: live and not empty."""
        return np.flatnonzero(self.alive & (self.lengths > 0))

    @cached_property
    def mean_length(self) -> float:
        """The mean number of tokens of documents that can be hits; 1 if there are none."""
        lengths = self.lengths[self.searchable]
        return float(lengths.mean()) if len(lengths) else 1.0

    @property
    def insertion_order(self) -> NDArray[np.int64]:
        """Positions of documents that can be hits, in insertion order; in shards, positions have another order."""
        return self._in_order(self.searchable)

    def _in_order(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        if not self.layout.sequenced:
            return positions
        return positions[np.argsort(self.sequence[positions], kind="stable")]

    def ids_at(self, positions: Iterable[int]) -> list[Id]:
        """The ids at some positions. The caller has just checked the files."""
        if len(self.segments) == 1:  # as most have it
            ids = self.segments[0].ids
            return [ids[i] for i in positions]
        located = map(self.locate, positions)
        return [segment.ids[place] for segment, place in located]

    def live_ids(self) -> list[Id]:
        """Ids of documents that were not deleted, by position."""
        return living(self.segments).ids()

    def ids_in_order(self) -> list[Id]:
        """Ids of documents that were not deleted, in insertion order."""
        ids = self.live_ids()
        if not self.layout.sequenced:
            return ids
        return [ids[i] for i in np.argsort(self.sequence[self.live], kind="stable")]

    def locate(self, position: int) -> tuple[Segment, int]:
        """The segment of a document, and its position there."""
        which = bisect_right(self.starts, position) - 1
        return self.segments[which], position - self.starts[which]

    def by_segment(self, positions: NDArray[np.int64]) -> Iterator[tuple[Segment, NDArray[np.int64]]]:
        """Each segment with the positions in it of its documents among these."""
        for start, segment in zip(self.starts, self.segments, strict=False):
            yield segment, positions[(positions >= start) & (positions < start + segment.documents)] - start

    def vectors(self, position: int) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of the rows of the document at a position."""
        if self.layout.bits:
            return self.layout.to_given(self.engine_rows(position))
        segment, place = self.locate(position)
        return segment.vectors(place)

    def engine_rows(self, position: int) -> NDArray[np.float32]:
        """The rows of the document at a position, as the engine has them: to be compared with its queries."""
        segment, place = self.locate(position)
        return segment.vectors(place).astype(np.float32, copy=False)

    def metadata(self, positions: list[int]) -> list[Any]:
        """The metadata of some documents; None for those without."""
        found: dict[int, Any] = {}
        shares = self.by_segment(np.array(positions, np.int64))
        for start, (segment, places) in zip(self.starts, shares, strict=False):
            if len(places):
                found |= {start + i: value for i, value in segment.metadata.read(places.tolist()).items()}
        return [found.get(i) for i in positions]

    def matching(self, where: Where) -> NDArray[np.bool_]:
        """Whether each document's metadata match a filter, by position, including deleted documents."""
        masks = (segment.metadata.matching(where, segment.documents) for segment in self.segments)
        return np.concatenate([np.zeros(0, np.bool_), *masks])

    def explain(self, query: NDArray[np.float32], position: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For each query token, the most similar token of the document at a position, and how similar."""
        return _core.explain(self.corpus, query, position)

    def with_tiers(self, threads: int, *, train: bool) -> Snapshot:
        """The same documents, all with lists, and with a new codebook if asked or if there is none.

        That of a store of residuals never changes: another writer may have trained it a moment ago. Documents that
        await it are encoded only if asked, because their scores change.
        """
        if self.codebook is None or (train and not self.codebook.bits):
            return self.with_codebook(threads, encode=train)
        return self.listed(threads)

    def with_codebook(self, threads: int, *, encode: bool = True) -> Snapshot:
        """The same documents with a new codebook and lists; calibrations are dropped."""
        return self.coded(self.learn_codebook(threads, encode=encode), threads)

    def learn_codebook(self, threads: int, *, encode: bool = True) -> Codebook:
        """A codebook of its tokens. It is the same for the same documents in the same order, also if in shards.

        With ``encode``, it is that of the store, if the store is one of residuals; else it is for lists alone.
        """
        layout = self.layout if encode or not self.layout.bits else self.layout._replace(store="int8")
        return Codebook.train(layout, self.segments, self._in_order(np.arange(self.starts[-1])), threads)

    def coded(self, codebook: Codebook, threads: int) -> Snapshot:
        """The same documents with this codebook and lists, or tier 0; calibrations are dropped."""
        stored = [self.as_stored(segment.without_centroids(), codebook, threads) for segment in self.segments]
        segments = stored if codebook.is_tier0 else list_segments(codebook, stored, threads)
        return replace(self, segments=segments, codebook=codebook, calibrations=(), changes=NO_CHANGES, kept=None)

    def as_stored(self, segment: Segment, codebook: Codebook | None, threads: int) -> Segment:
        """A segment without a codebook as one with it: with tier 0, or as centroids and residuals."""
        if codebook is not None and codebook.bits:
            return codebook.encode(segment, self.layout, threads)
        return codebook.name_tokens(segment, threads) if codebook is not None and codebook.is_tier0 else segment

    def with_reencoded(self, others: Sequence[Segment], new: Sequence[Segment], threads: int) -> Snapshot:
        """Its segments without some documents, and those again, given as byte codes, with a codebook trained on them.

        If one of its segments has the same codebook, that is used: there are never two of one digest. All documents of
        this codebook have lists; calibrations are dropped.
        """
        everything = np.arange(sum(segment.documents for segment in new))
        book = Codebook.train(self.layout, new, everything, threads)
        known = (self.codebook, *(segment.book for segment in self.segments))
        book = next((one for one in known if isinstance(one, Codebook) and one.digest == book.digest), book)
        bare = [segment.changed(lists=None) for segment in others]
        segments = list_segments(book, [*bare, *(book.encode(one, self.layout, threads) for one in new)], threads)
        return replace(self, segments=segments, codebook=book, calibrations=(), changes=NO_CHANGES, kept=None)

    def listed(self, threads: int) -> Snapshot:
        """The same documents, all with lists if it has a codebook of lists."""
        segments = self.with_lists(self.segments, threads)
        same = all(new is old for new, old in zip(segments, self.segments, strict=True))
        return self if same else replace(self, segments=segments)

    def with_lists(self, segments: Sequence[S], threads: int, most_bytes: int = 0) -> Sequence[S]:
        """Segments of the next version, with lists if there is a codebook of lists: those that are sealed.

        They are if no later segment will be merged with them. Segments are merged up to ``most_bytes``.
        """
        book = self.codebook
        if book is None or book.is_tier0:
            return segments
        sealed = count_sealed(segments, most_bytes)
        return [*list_segments(book, segments[:sealed], threads), *segments[sealed:]]

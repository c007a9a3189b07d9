"""One state of an index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.ids import Id
from maxsieve.storage.calibration import NO_CHANGES, Calibration, Changes
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.segments import SEQUENCE, Segment, living
from maxsieve.where import Where


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of an index. It never changes: a search that uses it does not see later changes.

    A document's position counts all documents before it, including deleted ones. ``version`` identifies the documents
    of an index on disk; a calibration does not change it. Data that were derived from the documents are out of date if
    the index has another version. ``changes`` are those since the calibration.
    """

    dim: int
    segments: Sequence[Segment]
    version: str = ""
    codebook: Codebook | None = None
    calibration: Calibration | None = None
    changes: Changes = NO_CHANGES

    def __getstate__(self) -> dict[str, Any]:
        """Without fields that can be computed from the others."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def corpus(self) -> _core.Corpus:
        """The engine's view, after a check that no file was truncated."""
        for segment in self.segments:
            segment.check()
        if self.codebook is not None:
            self.codebook.check()
        return self._corpus

    def expect(self, *, scattered: bool) -> None:
        """Says whether the next search reads the vectors of few documents, or of many in order."""
        for segment in self.segments:
            segment.expect(scattered=scattered)

    @cached_property
    def _corpus(self) -> _core.Corpus:
        codebook = None if self.codebook is None else self.codebook.native
        return _core.Corpus(self.dim, tuple(segment.native for segment in self.segments), codebook)

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
        for segment in self.segments:
            segment.check()
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
        positions = self.searchable
        if not self.segments or SEQUENCE not in self.segments[0].kinds:
            return positions
        return positions[np.argsort(self.sequence[positions], kind="stable")]

    @property
    def ids(self) -> IdsByPosition:
        """The id at each position."""
        return IdsByPosition(self)

    def ids_at(self, positions: Iterable[int]) -> list[Id]:
        """The ids at some positions, for a search that has just checked the files."""
        if len(self.segments) == 1:  # as most have it
            return [self.segments[0].ids[i] for i in positions]
        located = map(self.locate, positions)
        return [segment.ids[place] for segment, place in located]

    def live_ids(self) -> list[Id]:
        """Ids of documents that were not deleted, in order."""
        return living(self.segments).ids()

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
        segment, place = self.locate(position)
        return segment.vectors(place)

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

    def ranks(self, query: NDArray[np.float32], wanted: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
        """The ranks by tier 0, from 1, of documents at some ascending positions, among all that can be hits."""
        return _core.ranks(self.corpus, query, self.searchable, wanted, threads)

    def scores(self, queries: list[NDArray[np.float32]], threads: int) -> NDArray[np.float32]:
        """Canonical scores [queries, documents] by position; -inf for empty documents."""
        return _core.score(self.corpus, queries, threads)

    def cells(self, query: NDArray[np.float32], threads: int) -> NDArray[np.float32]:
        """Canonical cells [documents, query tokens] by position."""
        return _core.cells(self.corpus, query, threads)

    def bounds(self, query: NDArray[np.float32], threads: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper bounds of the scores by the int8 codes, by position."""
        return _core.bounds(self.corpus, query, threads)


class IdsByPosition:
    """Ids by position, like a list: ``ids[position]``."""

    def __init__(self, state: Snapshot) -> None:
        self._state = state

    def __getitem__(self, position: int) -> Id:
        segment, place = self._state.locate(position)
        segment.check()
        return segment.ids[place]

"""Lists of documents by centroid, as in spec/lists.py: a search by lists reads few of them, and few documents.

The lists of some consecutive segments are one part. A part never changes. Documents that were added later have no lists
until `list_segments` makes a part of them; a search follows them all up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks

if TYPE_CHECKING:
    from maxsieve.storage.codebook import Codebook
    from maxsieve.storage.segments import S, Segment

BLOCK = 65536
"""Documents of a block: as many as two bytes can number. Their sums, of four bytes each, stay in a cache of 256 KiB."""

MOST_TOKENS = 1 << 30
"""A part of more tokens is not made larger: a list has starts of four bytes."""


@dataclass(frozen=True, eq=False)
class SegmentLists:
    """The lists of ``segments`` consecutive segments with so many documents, including deleted ones."""

    segments: int
    documents: int
    centroids: int
    present: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    members: NDArray[np.uint16]
    file: BlockFile | None = field(default=None, repr=False)

    @classmethod
    def make(cls, book: Codebook, segments: Sequence[Segment], threads: int) -> SegmentLists:
        """The lists of some segments, of which at least one has a document."""
        book.check()
        for segment in segments:
            segment.check()
        natives = tuple(segment.native for segment in segments)
        made = _core.make_lists(book.native, natives, BLOCK, book.probes or 1, threads)
        return cls(len(segments), sum(segment.documents for segment in segments), book.centroids, *made)

    @cached_property
    def native(self) -> _core.ListPart:
        """The engine's view."""
        return _core.ListPart(self.documents, BLOCK, self.centroids, self.present, self.starts, self.members)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's view, which the receiver makes again."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.present.nbytes + self.starts.nbytes + self.members.nbytes

    def check(self) -> None:
        """Raises an error if its file was truncated."""
        if self.file is not None:
            self.file.check()

    def write(self, path: Path) -> int:
        """Writes it durably, and returns the checksum of the file."""
        facts = [self.segments, self.documents, self.centroids, BLOCK]
        with writing_blocks(path) as writer:
            writer.write("facts", "<i8", 1, [np.array(facts, np.int64)])
            writer.write("present", "<u8", 1, [self.present])
            writer.write("starts", "<u4", 1, [self.starts])
            writer.write("members", "<u2", 1, [self.members])
        return writer.crc

    @classmethod
    def read(cls, file: BlockFile, centroids: int) -> SegmentLists:
        """Maps a part. All that bounds depend on is checked, except the members, which the engine cuts to its memory."""
        facts = file.array("facts", "<i8").tolist()
        arrays = file.array("present", "<u8"), file.array("starts", "<u4"), file.array("members", "<u2")
        if len(facts) != 4 or facts[0] < 1 or facts[2:] != [centroids, BLOCK]:
            raise DamagedIndexError(f"{file.path} is not of the {centroids} centroids of the codebook")
        part = cls(facts[0], facts[1], centroids, *arrays, file)
        try:
            part.native  # noqa: B018 - it looks at everything
        except ValueError as problem:
            raise DamagedIndexError(f"{file.path}: {problem}") from None
        return part

    def verify(self, advance: Callable[[int], None]) -> None:
        """Compares checksums, and checks that every list has documents of its block, in order."""
        if self.file is None:
            return
        self.file.verify(advance)
        if not self.native.has_sane_members():
            raise DamagedIndexError(f"{self.file.path} has lists with documents that they can't have")


def whole_parts(segments: Sequence[Segment]) -> list[tuple[int, SegmentLists]]:
    """The parts of which all segments are still here, with the number of the first.

    A part of which segments were merged or removed is of no use.
    """
    parts, first = [], 0
    for _, run in groupby(segments, lambda segment: id(segment.lists)):
        same = list(run)
        lists = same[0].lists
        if lists is not None and lists.segments == len(same):
            parts.append((first, lists))
        first += len(same)
    return parts


def list_segments(book: Codebook, segments: Sequence[S], threads: int) -> list[S]:
    """The segments, all with lists: those that have none get a part.

    Small parts before it are made again together with it: a document is listed about log2(documents) times in all, and
    the parts stay few.
    """
    parts = dict(whole_parts(segments))
    listed = list(segments)
    place = 0
    done: list[tuple[int, int, int]] = []  # first segment, number of segments, and tokens of each part so far
    while place < len(segments):
        if place in parts:
            count = parts[place].segments
            done.append((place, count, sum(segment.tokens for segment in segments[place : place + count])))
            place += count
            continue
        first = place
        while place < len(segments) and place not in parts:
            place += 1
        tokens = sum(segment.tokens for segment in segments[first:place])
        while done and done[-1][2] <= tokens and done[-1][2] + tokens <= MOST_TOKENS:
            first, _, before = done.pop()
            tokens += before
        if any(segment.documents for segment in segments[first:place]):
            made = SegmentLists.make(book, segments[first:place], threads)
            listed[first:place] = [segment.changed(lists=made) for segment in segments[first:place]]
        done.append((first, place - first, tokens))
    return listed

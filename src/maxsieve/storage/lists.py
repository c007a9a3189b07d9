"""Lists of documents by centroid, as in spec/lists.py: a search by lists reads few of them, and few documents.

The lists of some consecutive segments are one part, which never changes. listing.py makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks

BLOCK = 65536
"""Documents of a block: as many as two bytes can number. Their sums, of four bytes each, stay in a cache of 256 KiB."""


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

    @cached_property
    def native(self) -> _core.ListPart:
        """The engine's view."""
        return _core.ListPart(self.documents, BLOCK, self.centroids, self.present, self.starts, self.members)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's view, which the receiver makes again."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    @classmethod
    def merge(cls, parts: Sequence[SegmentLists]) -> SegmentLists:
        """One part of consecutive ones, as if it were made at once. Tokens are not named again.

        Damage is not carried over: files are verified.
        """
        for part in parts:
            part.verify(lambda _: None)
        segments, documents = (sum(counts) for counts in zip(*((p.segments, p.documents) for p in parts), strict=True))
        made = _core.merge_lists(tuple(part.native for part in parts))
        return cls(segments, documents, parts[0].centroids, *made)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.present.nbytes + self.starts.nbytes + self.members.nbytes

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
        """Maps a part, and checks all that bounds depend on, except members: the engine cuts those to its memory."""
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

"""The result of a calibration: the ranks of its queries' true best documents in the list by tier 0.

spec/calibrated.py says what it guarantees, docs/theory.md proves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import LARGEST, MAX_QUERY_TOKENS
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks

Origin: TypeAlias = Literal["queries", "own sentences"]
ORIGINS: tuple[Origin, ...] = ("queries", "own sentences")

MOST_CHANGED = Fraction(1, 10)
"""If a larger share of the documents was added or deleted since, a calibration guarantees nothing."""


LATEST = 253_402_300_799
"""The last second of the year 9999, the last that Python's dates can represent."""


class Changes(NamedTuple):
    """Documents added and deleted since a calibration; a replaced one is both."""

    added: int = 0
    deleted: int = 0


NO_CHANGES = Changes()


@dataclass(frozen=True, eq=False)
class Calibration:
    """The ranks by tier 0 of each query's true best documents; and the queries, to repeat the calibration.

    ``ranks`` is [queries, k], best document first. ``documents`` is the number of documents that could be hits at that
    time, and ``made`` is that time, in seconds since 1970. ``wanted`` is the requested k; ``k`` is smaller if there
    were fewer documents. If ``grouped``, only the best document of each group counts.
    """

    ranks: NDArray[np.int64]
    rows: NDArray[np.float32]
    lengths: NDArray[np.int64]
    documents: int
    made: int
    origin: Origin
    wanted: int
    grouped: bool = False
    _depths: dict[tuple[int, Fraction], int] = field(default_factory=dict, repr=False)

    @property
    def queries(self) -> list[NDArray[np.float32]]:
        """The queries it was made with."""
        return np.split(self.rows, np.cumsum(self.lengths)[:-1])

    @property
    def k(self) -> int:
        """The largest number of hits that it has a guarantee for."""
        return int(self.ranks.shape[1])

    def enough_for(self, overlap: Fraction) -> bool:
        """Whether there are enough queries to guarantee an expected overlap."""
        return len(self.ranks) >= queries_needed(overlap)

    def depth(self, k: int, overlap: Fraction) -> int:
        """How many documents by tier 0 must be followed up for a top k; `enough_for` must hold."""
        if (k, overlap) not in self._depths:
            places = np.sort(self.ranks[:, :k], axis=None)
            self._depths[k, overlap] = int(places[ceil(k * (len(self.ranks) + 1) * overlap) - 1])
        return self._depths[k, overlap]

    def holds_after(self, changes: Changes) -> bool:
        """Whether its guarantee is still valid after these changes."""
        return sum(changes) <= MOST_CHANGED * self.documents

    def fits(self, there: int, changes: Changes) -> bool:
        """Whether the calibrated index can have this many documents that can be hits, after these changes."""
        return self.documents - changes.deleted <= there <= self.documents + changes.added

    def write(self, path: Path) -> int:
        """Writes it durably, and returns the checksum of the file."""
        facts = [self.documents, self.made, ORIGINS.index(self.origin), self.wanted, *[1] * self.grouped]
        with writing_blocks(path) as writer:
            writer.write("ranks", "<i8", self.k, [self.ranks])
            writer.write("lengths", "<i8", 1, [self.lengths])
            writer.write("facts", "<i8", 1, [np.array(facts, np.int64)])
            writer.write("rows", "<f4", self.rows.shape[1], [self.rows])
        return writer.crc

    @classmethod
    def read(cls, file: BlockFile, dim: int) -> Calibration:
        """Reads a calibration, and checks all of it, because a guarantee depends on it. It is small, and copied."""
        file.verify(lambda _: None)
        k = file.blocks["ranks"].columns if "ranks" in file.blocks else 0
        ranks, lengths, facts = (
            file.array(*column).copy() for column in (("ranks", "<i8", k), ("lengths", "<i8"), ("facts", "<i8"))
        )
        rows = file.array("rows", "<f4", dim).copy()
        sane = (
            (len(facts) == 4 or (len(facts) == 5 and facts[4] == 1))
            and 0 < len(ranks) == len(lengths)
            and bool(((lengths >= 1) & (lengths <= MAX_QUERY_TOKENS)).all())
            and int(lengths.sum()) == len(rows)
            and bool((np.abs(rows) <= LARGEST).all())
            and 1 <= k <= facts[0]
            and bool(((ranks >= 1) & (ranks <= facts[0])).all())
            and 0 <= facts[1] <= LATEST
            and 0 <= facts[2] < len(ORIGINS)
            and facts[3] >= k
        )
        if not sane:
            raise DamagedIndexError(f"{file.path} holds numbers that no calibration gives")
        documents, made, origin, wanted, *grouped = facts.tolist()
        return cls(ranks, rows, lengths, documents, made, ORIGINS[origin], wanted, bool(grouped))


def most_overlap(queries: int) -> float:
    """The largest overlap, in hundredths, that so many queries can guarantee.

    >>> most_overlap(19), most_overlap(50), most_overlap(200), most_overlap(1)
    (0.95, 0.98, 0.99, 0.5)
    """
    return min(99, 100 * queries // (queries + 1)) / 100


def queries_needed(overlap: Fraction) -> int:
    """The fewest queries with which an expected overlap can be guaranteed.

    >>> queries_needed(Fraction("0.99")), queries_needed(Fraction("0.95"))
    (99, 19)
    """
    return ceil(1 / (1 - overlap)) - 1

"""The result of a calibration: the ranks of its queries' true best documents in the list by a cheap proxy.

The proxy is that of lists or, in an index of an earlier version of maxsieve, that of tier 0. spec/calibrated.py says
what it guarantees, docs/theory.md proves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import LARGEST, MAX_QUERY_TOKENS
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile, BlockWriter, writing_blocks
from maxsieve.storage.codebook import Walk
from maxsieve.where import Where, to_where

Origin: TypeAlias = Literal["queries", "own sentences"]
ORIGINS: tuple[Origin, ...] = ("queries", "own sentences")

INFINITE = 2**63 - 1
"""The rank of a document that no list which was read holds. A depth of so many means: `Certified` on all documents."""

LATEST = 253_402_300_799
"""The last second of the year 9999, the last that Python's dates can represent."""

MOST_WALKS = 8
KINDS = ("documents", "groups")
"""What hits are: single documents, or the best documents of groups."""


class Changes(NamedTuple):
    """Documents added and deleted since a calibration; a replaced one is both."""

    added: int = 0
    deleted: int = 0


NO_CHANGES = Changes()


@dataclass(frozen=True, eq=False)
class BestHits:
    """The true best hits of each query, best first: ids, scores [queries, hits], and ranks [walks, queries, hits].

    There are some more hits than k, so that a guarantee survives the deletion of some. A calibration of an earlier
    version of maxsieve has ranks alone: ``ids`` is None.
    """

    ranks: NDArray[np.int64]
    scores: NDArray[np.float32]
    ids: list[list[Id]] | None

    def counted(self, ranks: NDArray[np.int64], origin: Origin) -> NDArray[np.int64]:
        """The ranks of hits that count, in the list without the others.

        The best hit of an own sentence is what it was taken from, which no proxy misses: it does not count. (Other
        documents of its group may stay in the list. They can only increase a rank, so the guarantee stays valid.)
        """
        if origin != "own sentences" or self.ids is None:
            return ranks
        source, others = ranks[..., :1], ranks[..., 1:]
        counted: NDArray[np.int64] = others - ((others > source) & (others != INFINITE))
        return counted


@dataclass(frozen=True, eq=False)
class Calibration:
    """The ranks of each query's true best hits; and the queries, to repeat the calibration.

    There are `BestHits` of documents and, if documents are in groups, of groups, each ranked by every one of the
    ``walks`` (None: tier 0). ``documents`` is the number of documents that could be hits at that time, and ``made`` is
    that time, in seconds since 1970. ``wanted`` is the requested k. ``where`` is the filter that it is for.
    """

    hits: dict[str, BestHits]
    walks: tuple[Walk | None, ...]
    rows: NDArray[np.float32]
    lengths: NDArray[np.int64]
    documents: int
    made: int
    origin: Origin
    wanted: int
    where: Where | None = None
    file: BlockFile | None = field(default=None, repr=False)
    _depths: dict[tuple[Any, ...], int] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the mapped file: its arrays were copied."""
        return {**vars(self), "file": None, "_depths": {}}

    @property
    def queries(self) -> list[NDArray[np.float32]]:
        """The queries it was made with, as the engine has them: rotated in a store of residuals."""
        return np.split(self.rows, np.cumsum(self.lengths)[:-1])

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.lengths)

    @property
    def k(self) -> int:
        """The largest number of hits that it has a guarantee for."""
        return min(self.wanted, *(int(best.counted(best.ranks, self.origin).shape[2]) for best in self.hits.values()))

    @property
    def hits_are_known(self) -> bool:
        """Whether it knows the hits, so that its guarantee stays valid when documents are deleted."""
        return all(best.ids is not None for best in self.hits.values())

    def enough_for(self, overlap: Fraction) -> bool:
        """Whether there are enough queries to guarantee an expected overlap."""
        return self.n_queries >= queries_needed(overlap)

    def walk(self, k: int, overlap: Fraction) -> int:
        """The number of the walk for a top k and a target. It depends on nothing else: see `walks_for`."""
        return min(len(self.walks) - 1, int(overlap > QUICK) + int(k > FEW))

    def depth(self, k: int, overlap: Fraction, share: Fraction | None = None, kind: str = KINDS[0]) -> int:
        """How many documents must be followed up for a top k, if nothing has changed; `enough_for` must hold."""
        key = k, overlap, share, kind
        if key not in self._depths:
            self._depths[key] = self.depth_by(self.hits[kind].ranks, k, overlap, share, kind)
        return self._depths[key]

    def depth_by(self, ranks: NDArray[np.int64], k: int, overlap: Fraction, share: Fraction | None, kind: str) -> int:
        """`depth` with other ranks [walks, queries, hits], after changes."""
        return depth_of(self.hits[kind].counted(ranks[self.walk(k, overlap)], self.origin), k, overlap, share)

    def fits(self, there: int, changes: Changes) -> bool:
        """Whether the calibrated index can have this many documents that can be hits, after these changes."""
        fewest = 0 if self.where is not None else there - changes.added
        return fewest <= self.documents <= there + changes.deleted

    def write(self, path: Path) -> int:
        """Writes it durably, and returns the checksum of the file."""
        facts = [self.documents, self.made, ORIGINS.index(self.origin), self.wanted]
        with writing_blocks(path) as writer:
            if self.walks == (None,):
                self._write_ranks_alone(writer, facts)
            else:
                writer.write("facts", "<i8", 1, [np.array(facts, np.int64)])
                writer.write("walks", "<i8", 2, [np.array(self.walks, np.int64)])
                writer.write("where", "|u1", 1, [_to_bytes(_where_fields(self.where))])
                for kind, best in self.hits.items():
                    writer.write(f"{kind}.ranks", "<i8", best.ranks.shape[2], list(best.ranks))
                    writer.write(f"{kind}.scores", "<f4", best.scores.shape[1], [best.scores])
                    writer.write(f"{kind}.ids", "|u1", 1, [_to_bytes(best.ids)])
            writer.write("lengths", "<i8", 1, [self.lengths])
            writer.write("rows", "<f4", self.rows.shape[1], [self.rows])
        return writer.crc

    def _write_ranks_alone(self, writer: BlockWriter, facts: list[int]) -> None:
        """As versions 1 and 2 of the format have it."""
        ((kind, best),) = self.hits.items()
        writer.write("ranks", "<i8", best.ranks.shape[2], list(best.ranks))
        writer.write("facts", "<i8", 1, [np.array([*facts, *[1] * (kind == "groups")], np.int64)])

    @classmethod
    def read(cls, file: BlockFile, dim: int) -> Calibration:
        """Reads a calibration, and checks all of it, because a guarantee depends on it. It is small, and copied."""
        file.verify(lambda _: None)
        lengths, facts = (file.array(name, "<i8").copy() for name in ("lengths", "facts"))
        rows = file.array("rows", "<f4", dim).copy()
        sane = (
            len(facts) in (4, 5)
            and len(lengths) > 0
            and bool(((lengths >= 1) & (lengths <= MAX_QUERY_TOKENS)).all())
            and int(lengths.sum()) == len(rows)
            and bool((np.abs(rows) <= LARGEST).all())
            and facts[0] >= 1
            and 0 <= facts[1] <= LATEST
            and 0 <= facts[2] < len(ORIGINS)
            and facts[3] >= 1
        )
        if not sane:
            raise _insane(file)
        documents, made, origin, wanted, *grouped = facts.tolist()
        walks: tuple[Walk | None, ...] = (None,)
        where: Where | None = None
        if "walks" not in file.blocks:
            kind = KINDS[1] if grouped == [1] else KINDS[0]
            ranks = _read_ranks(file, "ranks", 1, len(lengths), documents)
            if grouped not in ([], [1]) or ranks.shape[2] > min(documents, wanted) or (ranks == INFINITE).any():
                raise _insane(file)
            hits = {kind: BestHits(ranks, np.zeros(ranks.shape[1:], np.float32), None)}
        else:
            pairs = file.array("walks", "<i8", 2)
            if grouped or not 1 <= len(pairs) <= MOST_WALKS or not ((pairs >= 1) & (pairs <= 1 << 20)).all():
                raise _insane(file)
            walks = tuple(Walk(*pair) for pair in pairs.tolist())
            where = _read_where(file)
            named = [kind for kind in KINDS if f"{kind}.ranks" in file.blocks]
            hits = {kind: _read_hits(file, kind, len(walks), len(lengths), documents) for kind in named}
            if KINDS[0] not in hits:
                raise _insane(file)
        return cls(hits, walks, rows, lengths, documents, made, ORIGINS[origin], wanted, where, file)


def calibration_for(where: Where | None, calibrations: Iterable[Calibration]) -> Calibration | None:
    """The calibration for searches of all documents, or for a filter; None if there is none."""
    return next((one for one in calibrations if one.where == where), None)


QUICK = Fraction(19, 20)
"""Up to this target, lists are walked as quickly as possible."""

FEW = 20
"""For a larger k, lists are walked more thoroughly."""


def depth_of(ranks: NDArray[np.int64], k: int, overlap: Fraction, share: Fraction | None = None) -> int:
    """How many documents must be followed up for a top k, by the ranks [queries, hits] of calibration queries.

    The overlap is expected or, with ``share``, that of so many of the queries at least.
    """
    if share is not None:
        ranks = np.sort(ranks[:, :k], axis=1)[:, ceil(k * overlap) - 1 : ceil(k * overlap)]
        k, overlap = 1, share
    places = np.sort(ranks[:, :k], axis=None)
    return int(places[ceil(k * (len(ranks) + 1) * overlap) - 1])


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


def _where_fields(where: Where | None) -> Any:
    return None if where is None else {"where": where.given, "root": list(where.root)}


def check_storable(where: Where) -> None:
    """Raises an error if a filter can't be stored: it must consist of JSON values."""
    try:
        again = to_where(json.loads(json.dumps(where.given)))
    except (TypeError, ValueError):
        again = None
    if again is None or again.under(*where.root) != where:
        raise ValueError("where must consist of JSON values, so that it can be stored with the calibration")


def _to_bytes(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode("ascii"), np.uint8)


def _from_bytes(file: BlockFile, name: str) -> Any:
    try:
        return json.loads(file.array(name, "|u1").tobytes())
    except (ValueError, RecursionError):
        raise DamagedIndexError(f"{file.path}: block {name!r} is not JSON") from None


def _read_where(file: BlockFile) -> Where | None:
    found = _from_bytes(file, "where")
    if found is None:
        return None
    try:
        given, root = found["where"], found["root"]
        where = to_where(given)
        if where is None or not isinstance(root, list) or not all(isinstance(key, str) for key in root):
            raise ValueError("there is no filter")
        return where.under(*root) if root else where
    except (TypeError, KeyError, ValueError, RecursionError) as problem:
        raise DamagedIndexError(f"{file.path} has a filter that can't be read: {problem}") from None


def _read_ranks(file: BlockFile, name: str, walks: int, queries: int, documents: int) -> NDArray[np.int64]:
    k = file.blocks[name].columns if name in file.blocks else 1
    ranks = file.array(name, "<i8", k).copy()
    fine = (ranks >= 1) & ((ranks <= documents) | (ranks == INFINITE))
    if len(ranks) != walks * queries or not fine.all():
        raise _insane(file)
    shaped: NDArray[np.int64] = ranks.reshape(walks, queries, k)
    return shaped


def _read_hits(file: BlockFile, kind: str, walks: int, queries: int, documents: int) -> BestHits:
    ranks = _read_ranks(file, f"{kind}.ranks", walks, queries, documents)
    k = ranks.shape[2]
    scores = file.array(f"{kind}.scores", "<f4", k).copy()
    ids = _from_bytes(file, f"{kind}.ids")
    sane = (
        k <= documents
        and scores.shape == ranks.shape[1:]
        and bool(np.isfinite(scores).all() and (scores[:, 1:] <= scores[:, :-1]).all())
        and isinstance(ids, list)
        and len(ids) == queries
        and all(isinstance(row, list) and len(row) == k and {type(id) for id in row} <= {str, int} for row in ids)
        and len({type(id) for row in ids for id in row}) == 1
    )
    if not sane:
        raise _insane(file)
    return BestHits(ranks, scores, ids)


def _insane(file: BlockFile) -> DamagedIndexError:
    return DamagedIndexError(f"{file.path} holds numbers that no calibration gives")

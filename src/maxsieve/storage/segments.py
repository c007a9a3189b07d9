"""A segment: consecutive documents that never change. Its numbers are blocks, which one table describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, compress
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import LARGEST
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile
from maxsieve.storage.lists import SegmentLists
from maxsieve.storage.metadata import Metadata, Texts

Store: TypeAlias = Literal["float32", "float16", "int8", "residual4", "residual2", "residual1"]
Similarity: TypeAlias = Literal["dot", "cosine"]
S = TypeVar("S", bound="Segment")


BLOCK_BYTES = 64 << 20
"""Bytes of float32 rows that become one segment. A build that reads documents one by one holds that much in memory."""


class BlockKind(NamedTuple):
    """The content of a block: ``columns`` numbers of one type per document or token; None for a flat array.

    ``least`` and ``most`` are the limits of the numbers that maxsieve writes. A block with ``beside`` has its own file
    on disk: it can be made later, and made again.
    """

    name: str
    dtype: str
    least: float
    most: float
    per_token: bool = False
    columns: int | None = None
    beside: bool = False


CENTROIDS = BlockKind("centroids", "<u2", 0, 65535, True, beside=True)
"""Tier 0: the centroid of each token. Segments have it when the index has a codebook of tier 0."""

SEQUENCE = BlockKind("sequence", "<i8", 0, 2**53)
"""The insertion order of each document in the whole corpus. Only segments of shards have it."""


class StoreCodebook(Protocol):
    """The codebook of a store of residuals, as its segments need it; codebook.py has it."""

    @property
    def bits(self) -> int:
        """Bits for each number of a residual."""

    @property
    def centroids(self) -> int:
        """How many there are."""

    @property
    def digest(self) -> str:
        """Its name."""

    @property
    def native(self) -> _core.Codebook:
        """The engine's view."""

    @property
    def file(self) -> BlockFile | None:
        """Its file, if it has one."""


class Layout(NamedTuple):
    """What all vectors of an index have in common.

    Documents of a shard are ``sequenced``: each has its insertion order in the whole corpus.
    """

    dim: int
    store: Store = "float32"
    similarity: Similarity = "dot"
    sequenced: bool = False

    @property
    def bits(self) -> int:
        """Bits for each number of a residual, in a store of centroids and residuals; 0 in any other store.

        The vectors of such a store, and the queries, are rotated: docs/theory.md says why.
        """
        return int(self.store.removeprefix("residual")) if self.store.startswith("residual") else 0

    @property
    def kinds(self) -> tuple[BlockKind, ...]:
        """The blocks of a segment without a codebook. Residuals are byte codes until there is one."""
        return block_kinds(self.dim, "int8" if self.bits else self.store, self.sequenced)

    @property
    def residual_kinds(self) -> tuple[BlockKind, ...]:
        """The blocks of a segment of centroids and residuals."""
        return residual_kinds(self.dim, self.bits, self.sequenced)

    def to_given(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows as the engine has them, documents or queries, in the caller's space: rotated back, up to rounding."""
        if self.bits:
            rows = rows.copy()
            _core.rotate(rows, back=True)
        return rows


@lru_cache
def block_kinds(dim: int, store: Store, sequenced: bool = False) -> tuple[BlockKind, ...]:
    """The blocks of a segment, in the order of its file. A new tier of codes is a new line here.

    ``scale``, ``rho`` and ``nu`` are those of the codes; docs/format.md says what they mean. With ``store="int8"`` the
    vectors are the codes times their scale, and there are no rows. With a codebook there are also `CENTROIDS`, and in
    a shard `SEQUENCE` numbers.
    """
    finite = float(np.finfo(np.float32).max)
    kinds = (
        BlockKind("scale", "<f4", 0, finite),
        BlockKind("rho", "<f4", 0, finite),
        BlockKind("nu", "<f4", 0, finite),
        *((SEQUENCE,) if sequenced else ()),
        BlockKind("codes", "|i1", -127, 127, True, _core.code_stride(dim)),
    )
    if store == "int8":
        return kinds
    largest = min(LARGEST, float(np.finfo(store).max))
    return (
        *kinds,
        BlockKind("rows", {"float32": "<f4", "float16": "<f2"}[store], -largest, largest, True, dim),
    )


@lru_cache
def residual_kinds(dim: int, bits: int, sequenced: bool = False) -> tuple[BlockKind, ...]:
    """The blocks of a segment of centroids and residuals, in the order of its file; spec/residual.py defines them."""
    finite = float(np.finfo(np.float32).max)
    return (
        BlockKind("scale", "<f4", 0, finite),
        BlockKind("nu", "<f4", 0, finite),
        *((SEQUENCE,) if sequenced else ()),
        CENTROIDS._replace(beside=False),
        BlockKind("factors", "|u1", 0, 255, True, 2),
        BlockKind("levels", "|u1", 0, 255, True, _core.level_bytes(dim, bits)),
    )


@dataclass(frozen=True, eq=False)
class Segment:
    """Concatenated documents: offsets of their tokens, blocks of numbers, ids, metadata, and which ones are alive.

    Documents that are not alive were deleted. A block is available as an attribute: ``segment.codes``. Neighbouring
    segments may have ``lists`` together. If tokens are stored as centroids and residuals, ``book`` has the centroids.
    """

    dim: int
    kinds: tuple[BlockKind, ...]
    offsets: NDArray[np.int64]
    blocks: dict[str, NDArray[Any]]
    ids: Sequence[Id]
    metadata: Metadata
    alive: NDArray[np.bool_]
    lists: SegmentLists | None = None
    book: StoreCodebook | None = None
    native: _core.Segment = field(init=False)

    def __post_init__(self) -> None:
        for array in self.arrays:
            array.flags.writeable = False
        blocks: dict[str, Any] = {name: bits(array) for name, array in self.blocks.items()}
        if self.book is not None:
            blocks |= {"codebook": self.book.native, "bits": self.book.bits}
        native = _core.Segment(dim=self.dim, offsets=self.offsets, **blocks)
        object.__setattr__(self, "native", native)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles everything except the engine's view, which the receiver makes again."""
        blocks = self.kinds, self.offsets, self.blocks
        return Segment, (self.dim, *blocks, self.ids, self.metadata, self.alive, self.lists, self.book)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if (block := self.__dict__.get("blocks", {}).get(name)) is None:
            raise AttributeError(f"a segment has no {name!r}")
        found: NDArray[Any] = block
        return found

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that the engine reads."""
        return (self.offsets, *self.blocks.values())

    @property
    def documents(self) -> int:
        """The number of documents, including deleted ones."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """The number of token vectors, including those of deleted documents."""
        return int(self.offsets[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document."""
        self.check()
        return np.diff(self.offsets)

    @property
    def files(self) -> tuple[BlockFile, ...]:
        """The mapped files of its numbers; none in memory."""
        return ()

    def check(self) -> None:
        """Raises an error if its numbers can't be read any more."""
        for file in self.files:
            file.check()

    def expect(self, *, scattered: bool) -> None:
        """Says whether the vectors of few documents will be read next, or of many in order. This matters for files."""

    def vectors(self, document: int) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's rows, rotated if those of its layout are."""
        self.check()
        if self.book is not None:
            return _core.decode_residual(self.native, document)
        first, last = self.offsets[document : document + 2]
        if "rows" not in self.blocks:
            scaled: NDArray[np.float32] = self.codes[first:last, : self.dim] * np.float32(self.scale[document])
            return scaled
        rows: NDArray[np.float32] | NDArray[np.float16] = self.rows[first:last].copy()
        return rows

    def some_ids(self, keep: NDArray[np.bool_] | None) -> Iterable[Id]:
        """The ids of some documents, or of all."""
        return self.ids if keep is None else compress(self.ids, keep.tolist())

    def without_centroids(self: S) -> S:
        """A copy without centroids and lists."""
        if CENTROIDS not in self.kinds:
            return self.changed(lists=None)
        kinds = tuple(kind for kind in self.kinds if kind != CENTROIDS)
        blocks = {name: block for name, block in self.blocks.items() if name != CENTROIDS.name}
        return replace(self, kinds=kinds, blocks=blocks, lists=None)

    def with_centroids(self: S, centroids: NDArray[np.uint16]) -> S:
        """A copy with new centroids."""
        kinds = (*(kind for kind in self.kinds if kind != CENTROIDS), CENTROIDS)
        return replace(self, kinds=kinds, blocks=self.blocks | {CENTROIDS.name: centroids})

    def alive_without(self, documents: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which documents stay alive if these are deleted, too."""
        alive = np.array(self.alive)
        alive[documents] = False
        return alive

    def changed(self: S, **fields: Any) -> S:
        """A copy with other fields. Blocks stay the same, and so does the engine's view of them."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **fields)
        return other

    def pieces(self, kind: BlockKind, keep: NDArray[np.bool_] | None, piece_bytes: int) -> Iterator[NDArray[Any]]:
        """A block's numbers of some documents, or of all, in pieces of about that size; at least one piece."""
        self.check()
        block = self.blocks[kind.name]
        kept = np.repeat(keep, self.lengths) if kind.per_token and keep is not None else keep
        step = max(1, piece_bytes // max(1, block[:1].nbytes))
        for start in range(0, max(1, len(block)), step):
            piece = block[start : start + step]
            yield piece if kept is None else piece[kept[start : start + step]]


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """The array as the engine reads it: float16 as raw bits."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def to_offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The offset of each document's rows, and the end of the last.

    >>> to_offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class Merge(NamedTuple):
    """Segments that become one segment, with the documents to keep of each (None: all)."""

    segments: Sequence[Segment]
    keep: Sequence[NDArray[np.bool_] | None]

    @property
    def kinds(self) -> tuple[BlockKind, ...]:
        """The blocks of the new segment."""
        return self.segments[0].kinds

    @property
    def book(self) -> StoreCodebook | None:
        """The codebook of its residuals: that of all these segments."""
        return self.segments[0].book

    def offsets(self) -> NDArray[np.int64]:
        """The offsets of the new segment."""
        return to_offsets(np.concatenate([_kept(segment.lengths, keep) for segment, keep in self._pairs()]))

    def pieces(self, kind: BlockKind, piece_bytes: int) -> Iterator[NDArray[Any]]:
        """A block of the new segment, in pieces of about that size."""
        return chain.from_iterable(segment.pieces(kind, keep, piece_bytes) for segment, keep in self._pairs())

    def ids(self) -> list[Id]:
        """The ids of the new segment."""
        return [id for segment, keep in self._pairs() for id in segment.some_ids(keep)]

    def metadata(self) -> Iterator[tuple[int, str]]:
        """The metadata of the new segment, by position."""
        start = 0
        for segment, keep in self._pairs():
            if keep is None:
                yield from ((start + i, text) for i, text in segment.metadata.texts())
                start += segment.documents
            else:
                new = start + np.cumsum(keep) - 1
                yield from ((int(new[i]), text) for i, text in segment.metadata.texts() if keep[i])
                start += int(keep.sum())

    def in_memory(self) -> Segment:
        """The new segment as arrays."""
        blocks = {kind.name: np.concatenate(list(self.pieces(kind, 1 << 62))) for kind in self.kinds}
        alive = np.concatenate([_kept(segment.alive, keep) for segment, keep in self._pairs()])
        metadata = Texts(dict(self.metadata()))
        return Segment(
            self.segments[0].dim, self.kinds, self.offsets(), blocks, self.ids(), metadata, alive, book=self.book
        )

    def _pairs(self) -> Iterator[tuple[Segment, NDArray[np.bool_] | None]]:
        return zip(self.segments, self.keep, strict=True)


def living(segments: Sequence[Segment]) -> Merge:
    """A merge of these segments that drops deleted documents."""
    return Merge(segments, [None if segment.alive.all() else segment.alive for segment in segments])


def _kept(array: NDArray[Any], keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    return array if keep is None else array[keep]


def merge_small(segments: Sequence[Segment]) -> list[Segment]:
    """Merges small segments at the end, so that adding documents one by one leaves few segments.

    The last two are merged as long as the last is at least half as large as the one before, and both together fit into
    a block. So a document is copied about log2(documents) times in total. Deleted documents stay, so that every
    document keeps its position. Segments with lists stay as they are, and so do those of another codebook.
    """
    merged = list(segments)
    while len(merged) > 1:
        before, last = merged[-2:]
        if 2 * last.nbytes < before.nbytes or before.nbytes + last.nbytes > BLOCK_BYTES or before.lists is not None:
            break
        if before.book is not last.book:
            break
        merged[-2:] = [Merge((before, last), (None, None)).in_memory()]
    return merged

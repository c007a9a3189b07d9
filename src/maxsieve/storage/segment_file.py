"""Segments as files: written block by block, memory-mapped for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.id_column import IdColumn, read_ids, write_ids
from maxsieve.storage.manifest import Manifest, SegmentEntry
from maxsieve.storage.metadata import MetadataFile, Texts, write_metadata
from maxsieve.storage.segments import CENTROIDS, BlockKind, Merge, Segment

PIECE_BYTES = 16 << 20
"""How much of each block a merge holds in memory."""

NO_BOOKS: Mapping[str, Codebook] = MappingProxyType({})

SPARE_BYTES = 1 << 20
"""In the limit on a file of tombstones: for the header, and for what a later version may add."""


@dataclass(frozen=True, eq=False)
class StoredSegment(Segment):
    """A segment on disk. Its files stay readable even if a writer removes them."""

    ids: IdColumn
    entry: SegmentEntry = field(kw_only=True)
    file: BlockFile = field(kw_only=True)
    deleted: BlockFile | None = None
    centroids_file: BlockFile | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("files of an index can't be pickled: pickle the index, which the receiver opens again")

    @property
    def file_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.nbytes for file in self._files())

    @property
    def files(self) -> tuple[BlockFile, ...]:
        """The mapped files of its numbers."""
        others = (self.centroids_file, None if self.book is None else self.book.file)
        return (self.file, *(file for file in others if file is not None))

    def expect(self, *, scattered: bool) -> None:
        """Says whether the vectors of few documents will be read next, or of many in order."""
        if self.file.scattered != scattered:
            self.file.expect(stored_rows(self.kinds), scattered=scattered)

    def in_place(self, entry: SegmentEntry) -> bool:
        """Whether the segment of an entry can use this one's files: they are the same, or new ones were added."""
        mine = self.entry
        if (mine.deleted and not entry.deleted) or (mine.centroids and not entry.centroids):
            return False
        kept = [self.file]
        if self.deleted is not None and mine.deleted == entry.deleted:
            kept.append(self.deleted)
        if self.centroids_file is not None and mine.centroids == entry.centroids:
            kept.append(self.centroids_file)
        return all(file.in_place() for file in kept)

    def verify_checksums(self, advance: Callable[[int], None] = lambda _: None) -> None:
        """Compares the checksums of all its files."""
        for file in self._files():
            file.verify(advance)

    def verify(self, advance: Callable[[int], None]) -> None:
        """Compares every checksum, and checks that numbers are in the range that maxsieve writes, and bounds right."""
        self.verify_checksums(advance)
        self.ids.verify()
        for kind in self.kinds:
            for piece in self.pieces(kind, None, PIECE_BYTES):
                if not ((piece >= kind.least) & (piece <= kind.most)).all():
                    raise DamagedIndexError(f"{self.file.path} has numbers out of range in block {kind.name!r}")
        with np.errstate(all="ignore"):
            wrong = next((i for i in range(self.documents) if not self._is_bounded(i)), None)
        if wrong is not None:
            raise DamagedIndexError(f"{self.file.path} has a bound that is too small, of document {self.ids[wrong]!r}")

    def _is_bounded(self, document: int) -> bool:
        """Whether a document's bounds bound its vectors: if they did not, a search could prove what is not so.

        They were rounded up by more than these norms can be rounded.
        """
        rows = self.vectors(document).astype(np.float64)
        if not _longest(rows) <= float(self.nu[document]):
            return False
        if "rows" not in self.blocks:
            return True
        first, last = self.offsets[document : document + 2]
        rest = rows - np.float64(self.scale[document]) * self.codes[first:last, : self.dim]
        return _longest(rest) <= float(self.rho[document])

    def _files(self) -> list[BlockFile | MetadataFile]:
        metadata = [self.metadata] if isinstance(self.metadata, MetadataFile) else []
        return [self.file, *(file for file in (self.deleted, self.centroids_file) if file is not None), *metadata]


def stored_rows(kinds: Iterable[BlockKind]) -> list[str]:
    """The blocks of a segment's own file that have a row for each token."""
    return [kind.name for kind in kinds if kind.per_token and not kind.beside]


def _longest(rows: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max(initial=0.0)))


def write_segment(path: Path, merge: Merge) -> SegmentEntry:
    """Writes documents and their metadata durably, as one segment."""
    offsets, ids = merge.offsets(), merge.ids()
    with writing_blocks(path) as writer:
        writer.write("offsets", "<i8", 1, [offsets])
        for kind in merge.kinds:
            if not kind.per_token:
                writer.write(kind.name, kind.dtype, kind.columns or 1, merge.pieces(kind, PIECE_BYTES))
        write_ids(writer, ids)
        for kind in merge.kinds:  # last, as a search reads the rows of few documents
            if kind.per_token and not kind.beside:
                writer.write(kind.name, kind.dtype, kind.columns or 1, merge.pieces(kind, PIECE_BYTES))
    entry = SegmentEntry(path.name, documents=len(ids), tokens=int(offsets[-1]))
    if CENTROIDS in merge.kinds:
        entry = write_centroids(path.with_suffix(".centroids"), entry, merge.pieces(CENTROIDS, PIECE_BYTES))
    if merge.book is not None:
        entry = replace(entry, codebook=merge.book.digest)
    beside = path.with_suffix(".records")
    crc = write_metadata(beside, merge.metadata())
    return entry if crc is None else replace(entry, records=beside.name, records_crc=crc)


def write_centroids(path: Path, entry: SegmentEntry, pieces: Iterable[NDArray[np.uint16]]) -> SegmentEntry:
    """Writes the centroids of a segment's tokens durably, and returns the entry of the segment with them."""
    with writing_blocks(path) as writer:
        writer.write(CENTROIDS.name, CENTROIDS.dtype, 1, pieces)
    return replace(entry, centroids=path.name, centroids_crc=writer.crc)


def map_segment(
    folder: Path,
    entry: SegmentEntry,
    manifest: Manifest,
    known: StoredSegment | None = None,
    books: Mapping[str, Codebook] = NO_BOOKS,
) -> StoredSegment:
    """Maps a segment. If it is ``known``, only its tombstones, centroids and lists can be new.

    Its residuals, if it has any, are of one of these codebooks, by digest.
    """
    if known is not None and not known.in_place(entry):
        known = None
    if known is not None and known.entry == entry:
        return known
    if known is not None and known.entry.lists != entry.lists:
        known = known.changed(lists=None)
    book = None if entry.codebook is None else books[entry.codebook]
    mapped = _map(folder, entry, manifest, book) if known is None or known.book is not book else known
    if entry.centroids != mapped.entry.centroids and entry.centroids is not None:
        mapped = _with_centroids(mapped, BlockFile(folder / entry.centroids, entry.centroids_crc))
    if entry.deleted is not None and entry.deleted != mapped.entry.deleted:
        deleted = BlockFile(folder / entry.deleted, at_most=SPARE_BYTES + 8 * entry.documents)
        alive = np.ones(entry.documents, np.bool_)
        alive[_read_deleted(deleted, entry.documents)] = False
        mapped = mapped.changed(alive=alive, deleted=deleted)
    return mapped.changed(entry=entry)


def write_deleted(path: Path, alive: NDArray[np.bool_]) -> None:
    """Writes tombstones for all documents that are not alive, durably."""
    with writing_blocks(path) as writer:
        writer.write("deleted", "<i8", 1, [np.flatnonzero(~alive)])


def _read_deleted(file: BlockFile, documents: int) -> NDArray[np.int64]:
    file.verify(lambda _: None)  # all of it is read here, and never again
    gone = file.array("deleted", "<i8")
    if len(gone) and not (gone[0] >= 0 and gone[-1] < documents and (gone[1:] > gone[:-1]).all()):
        raise DamagedIndexError(f"{file.path} deletes documents that do not exist, or one twice")
    return gone


def _with_centroids(segment: StoredSegment, file: BlockFile) -> StoredSegment:
    centroids = file.array(CENTROIDS.name, CENTROIDS.dtype)
    if len(centroids) != segment.tokens:
        raise DamagedIndexError(f"{file.path} does not have one centroid for each of {segment.tokens} tokens")
    return segment.with_centroids(centroids).changed(centroids_file=file)


def _map(folder: Path, entry: SegmentEntry, manifest: Manifest, book: Codebook | None) -> StoredSegment:
    """Checks that blocks fit each other before they are used."""
    path = folder / entry.segment
    file = BlockFile(path, scattered=True)
    kinds = manifest.layout.kinds if book is None else manifest.layout.residual_kinds
    rows = stored_rows(kinds)
    file.fetch(name for name in file.blocks if name not in rows)
    file.expect(rows, scattered=False)  # until a search says otherwise
    offsets = file.array("offsets", "<i8")
    blocks = {kind.name: file.array(kind.name, kind.dtype, kind.columns) for kind in kinds}
    if {len(offsets) - 1, *(len(blocks[kind.name]) for kind in kinds if not kind.per_token)} != {entry.documents}:
        raise DamagedIndexError(f"{path} does not have the {entry.documents} documents of the manifest")
    if {len(blocks[kind.name]) for kind in kinds if kind.per_token} != {entry.tokens}:
        raise DamagedIndexError(f"{path} does not have the {entry.tokens} tokens of the manifest")
    ids = read_ids(file, entry.documents)
    metadata: MetadataFile | Texts = Texts({})
    if entry.records is not None:
        metadata = MetadataFile(folder / entry.records, entry.records_crc, entry.documents)
    alive = np.ones(entry.documents, np.bool_)
    try:
        bare = replace(entry, deleted=None, centroids=None, centroids_crc=0, lists=None, lists_crc=0)
        segment = StoredSegment(
            manifest.dim, kinds, offsets, blocks, ids, metadata, alive, book=book, entry=bare, file=file
        )
    except ValueError as problem:
        raise DamagedIndexError(f"{path}: {problem}") from None
    if segment.tokens != entry.tokens:
        raise DamagedIndexError(f"{path} has {entry.tokens} tokens, of which its documents take {segment.tokens}")
    return segment

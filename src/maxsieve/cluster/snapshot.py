"""One version of a corpus in shards, as it is read. Shards are mapped into this process when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.manifest import (
    NAME,
    ClusterManifest,
    ShardVersion,
    by_shard,
    folder_name,
    read_cluster,
    shard_of,
    shards_of,
)
from maxsieve.cluster.shard import SHARDS, ShardDirectory, open_shard
from maxsieve.errors import DamagedIndexError, StaleVersionError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile
from maxsieve.storage.calibration import Calibration, Changes, calibration_for
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.directory import MOST_BYTES, StoredSnapshot
from maxsieve.storage.manifest import Manifest
from maxsieve.storage.snapshot import Snapshot


class ShardPlace(NamedTuple):
    """Where a document is: its shard, and its position there."""

    shard: int
    position: int


class ShardedSnapshot:
    """One version of a corpus. Its files may be removed when the corpus has changed twice: `StaleVersionError`.

    Files that the snapshot ``before`` has mapped are not mapped again. ``sizes`` are the tokens of each shard; other
    attributes are those of any snapshot.
    """

    def __init__(self, path: Path, manifest: ClusterManifest, before: ShardedSnapshot | None = None) -> None:
        self.path, self.manifest, self.layout = path, manifest, manifest.layout
        self.n_documents, self.n_searchable, self.n_tokens = manifest.documents, manifest.searchable, manifest.tokens
        self.mean_length = self.n_tokens / self.n_searchable if self.n_searchable else 1.0
        self.sizes = [shard.tokens for shard in manifest.shards]
        self.changes = Changes(manifest.added, manifest.deleted)
        self.mapped: dict[int, MappedShard] = {}
        if before is not None:
            self.mapped = {i: mapped for i, mapped in list(before.mapped.items()) if i < len(manifest.shards)}

    @property
    def nbytes(self) -> int:
        """The size of all files of the shards in bytes."""
        shards = enumerate(self.manifest.shards)
        return sum(ShardDirectory(self.path, version, self.shard(shard)).nbytes for shard, version in shards)

    @property
    def codebook(self) -> Codebook | None:
        """The codebook, of which every shard has a copy."""
        return None if self.manifest.codebook is None else self.shard(0).codebook

    @property
    def since(self) -> int:
        """Documents with sequence numbers from this on were added after the calibrations."""
        if self.manifest.since is None:
            return self.manifest.next_sequence - self.manifest.added
        return self.manifest.since

    @cached_property
    def calibrations(self) -> tuple[Calibration, ...]:
        """The calibrations of the corpus."""
        return tuple(self._read_calibration(*extra) for extra in self.manifest.calibrations)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration for searches of all documents."""
        return calibration_for(None, self.calibrations)

    def _read_calibration(self, name: str, crc: int) -> Calibration:
        try:
            found = Calibration.read(BlockFile(self.path / name, crc, at_most=MOST_BYTES), self.manifest.dim)
        except FileNotFoundError:
            if read_cluster(self.path) != self.manifest:
                raise self._stale() from None
            raise DamagedIndexError(f"{self.path / name} is missing") from None
        if not found.fits(self.n_searchable, self.changes):
            raise DamagedIndexError(
                f"{self.path / NAME} counts {self.manifest.added} documents added and {self.manifest.deleted} deleted "
                f"since a calibration with {found.documents}; but there are {self.n_searchable}"
            )
        return found

    @cached_property
    def here(self) -> Snapshot:
        """All shards as one snapshot in this process, with the calibrations. Positions are not in insertion order."""
        whole = self.of(range(len(self.manifest.shards)))
        return replace(whole, calibrations=self.calibrations, changes=self.changes)

    def of(self, shards: Sequence[int]) -> Snapshot:
        """Some shards as one snapshot with all their segments. It has the documents' sequence numbers."""
        mapped = [self.shard(shard) for shard in shards]
        segments = tuple(segment for snapshot in mapped for segment in snapshot.segments)
        named = (self.manifest.shards[shard] for shard in shards)
        name = "-".join([self.manifest.uid, *(f"{version.folder}/{version.manifest}" for version in named)])
        codebook = mapped[0].codebook if mapped else None
        return Snapshot(self.layout._replace(sequenced=True), segments, name, codebook)

    def shard(self, shard: int) -> StoredSnapshot:
        """A shard, mapped; `StaleVersionError` if its files were removed for a newer version."""
        version = self.manifest.shards[shard]
        known = self.mapped.get(shard)
        if known is not None and known.version == version:
            return known.snapshot
        try:
            snapshot = open_shard(self.path, version, None if known is None else known.snapshot, self._books)
        except FileNotFoundError as missing:
            if read_cluster(self.path).shards[shard:][:1] != (version,):
                raise self._stale() from None
            raise DamagedIndexError(f"{missing.filename or missing} is missing") from None
        self._check_fits(shard, snapshot.manifest)
        self.mapped[shard] = MappedShard(version, snapshot)
        return snapshot

    @property
    def _books(self) -> dict[str, Codebook]:
        """Codebooks of residuals that shards of this version have mapped, by digest: all shards have the same ones."""
        current = [one for i, one in list(self.mapped.items()) if one.version == self.manifest.shards[i]]
        return {digest: book for one in current for digest, book in one.snapshot.books.items()}

    def hold(self, ids: Iterable[Id]) -> None:
        """Maps the shards of some documents, so that the documents can be read even after the files are removed."""
        for shard in {shard_of(id, len(self.manifest.shards)) for id in ids}:
            self.shard(shard)

    def ids_in_order(self) -> list[Id]:
        """All ids, in insertion order."""
        return self.here.ids_in_order()

    def known(self, ids: Sequence[Id]) -> dict[Id, ShardPlace]:
        """The places of those ids that are there."""
        found: dict[Id, ShardPlace] = {}
        for shard, numbers in by_shard(ids, len(self.manifest.shards)).items():
            positions = self.shard(shard).known([ids[number] for number in numbers])
            found |= {id: ShardPlace(shard, position) for id, position in positions.items()}
        return found

    def orders(self, ids: Iterable[Id]) -> dict[Id, int]:
        """The sequence numbers of those ids that are there."""
        places = self.known(list(ids))
        return {id: int(self.shard(at.shard).sequence[at.position]) for id, at in places.items()}

    def metadata(self, places: list[ShardPlace]) -> list[Any]:
        """The metadata of documents; None for those without."""
        return [self.shard(place.shard).metadata([place.position])[0] for place in places]

    def vectors(self, place: ShardPlace) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's rows."""
        return self.shard(place.shard).vectors(place.position)

    def engine_rows(self, place: ShardPlace) -> NDArray[np.float32]:
        """A document's rows as the engine has them."""
        return self.shard(place.shard).engine_rows(place.position)

    def explain(self, query: NDArray[np.float32], place: ShardPlace) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For each query token, the most similar token of a document, and how similar."""
        return self.shard(place.shard).explain(query, place.position)

    def verify(self, advance: Callable[[int], None]) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` says what is wrong."""
        numbers: list[NDArray[np.int64]] = []
        for shard, version in enumerate(self.manifest.shards):
            snapshot = self.shard(shard)
            ShardDirectory(self.path, version, snapshot).verify(advance)
            where = self.path / SHARDS / version.folder
            if (shards_of(snapshot.live_ids(), len(self.manifest.shards)) != shard).any():
                raise DamagedIndexError(f"{where} has a document that belongs to another shard")
            numbers.append(snapshot.sequence[snapshot.live])
            if len(numbers[-1]) and numbers[-1].max() >= self.manifest.next_sequence:
                raise DamagedIndexError(f"{where} has a sequence number that was not assigned to any document yet")
        everything = np.concatenate(numbers)
        if len(np.unique(everything)) != len(everything):
            raise DamagedIndexError(f"{self.path} has two documents with the same sequence number")
        self.calibrations  # noqa: B018 - they are checked when they are read

    def _stale(self) -> StaleVersionError:
        return StaleVersionError(f"{self.path} has a newer version than {self.manifest.generation}")

    def _check_fits(self, shard: int, found: Manifest) -> None:
        corpus = self.manifest
        same = (found.dim, found.store, found.similarity, found.uid) == (
            corpus.dim,
            corpus.store,
            corpus.similarity,
            corpus.uid,
        )
        if not same or codebook_crc(found) != corpus.codebook:
            raise DamagedIndexError(f"{self.path / SHARDS / folder_name(shard)} is not a shard of this corpus")
        if corpus.shards[shard].documents and found.id_type != corpus.id_type:
            raise DamagedIndexError(
                f"{self.path / NAME} says that ids are {corpus.id_type}, but shard {shard} has {found.id_type}"
            )


class MappedShard(NamedTuple):
    """A version of a shard, and its mapped files."""

    version: ShardVersion
    snapshot: StoredSnapshot


def codebook_crc(manifest: Manifest) -> int | None:
    """The checksum of a shard's codebook; None without one."""
    extra = manifest.extras.get("codebook")
    return None if extra is None else extra.crc

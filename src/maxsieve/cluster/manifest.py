"""``cluster.json``: the manifest of a corpus, which names the manifests of its shards. To replace it is to commit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import opening_folder
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.manifest import MOST_FILTERS, SHARDS_NAME, Common, Extra, check_common, kind_of
from maxsieve.storage.sealed_json import read_sealed, reading_fields, write_sealed
from maxsieve.storage.segments import SEQUENCE

NAME = SHARDS_NAME
FORMAT = "maxsieve cluster"
VERSION = 3
"""A corpus is written as the oldest version that has its features: lists and calibrations for filters are of version 2,
stores of residuals of version 3."""
NEWER = ("since", "filters")
"""The fields that version 1 does not have."""
SHARD_MANIFEST = re.compile(r"[0-9]{8,20}\.manifest", re.ASCII)


@dataclass(frozen=True)
class ShardVersion:
    """One version of a shard: its folder in ``shards/``, its manifest's file and the CRC-32 of that file's bytes.

    ``documents`` and ``tokens`` do not count deleted documents. ``searchable`` is the number of documents that are not
    empty: only these can be hits.
    """

    folder: str
    manifest: str
    crc: int
    documents: int = 0
    tokens: int = 0
    searchable: int = 0


@dataclass(frozen=True)
class ClusterManifest(Common):
    """One version of a corpus. The next document gets the sequence number ``next_sequence``.

    ``codebook`` is the checksum of the codebook's file; every shard has a copy of it. ``calibration`` is a file of the
    whole corpus, and so are the ``filters``: calibrations for filters. ``added`` and ``deleted`` count documents since
    then. Documents with sequence numbers from ``since`` on were added since then (None in version 1).
    """

    next_sequence: int = 0
    shards: tuple[ShardVersion, ...] = ()
    codebook: int | None = None
    calibration: Extra | None = None
    added: int = 0
    deleted: int = 0
    since: int | None = None
    filters: tuple[Extra, ...] = ()

    @property
    def calibrations(self) -> tuple[Extra, ...]:
        """The files of all calibrations."""
        return (*(() if self.calibration is None else (self.calibration,)), *self.filters)

    @cached_property
    def fingerprint(self) -> str:
        """The generation and a digest of everything else: no other version has the same.

        Generations alone repeat if an older copy of the folder is restored, or another corpus is made in its place.
        """
        content = json.dumps(asdict(self), sort_keys=True)
        return f"{self.generation}-{blake2b(content.encode(), digest_size=8).hexdigest()}"

    @property
    def documents(self) -> int:
        """The number of documents."""
        return sum(shard.documents for shard in self.shards)

    @property
    def tokens(self) -> int:
        """The number of token vectors of all documents."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def searchable(self) -> int:
        """The number of documents that can be hits."""
        return sum(shard.searchable for shard in self.shards)


def folder_name(shard: int) -> str:
    """The folder name of a shard.

    >>> folder_name(7)
    '0007'
    """
    return f"{shard:04d}"


def read_cluster(folder: Path) -> ClusterManifest:
    """The current version of a corpus, checked."""
    path = folder / NAME
    with opening_folder(folder, "a corpus in shards", NAME):
        content, _ = read_sealed(path, {FORMAT: VERSION})
    with reading_fields(path):
        version = content.pop("version")
        if version == 1 and any(name in content for name in NEWER):
            raise ValueError("version 1 has no such manifest")
        del content["format"]
        shards = tuple(ShardVersion(**shard) for shard in content.pop("shards"))
        calibration = content.pop("calibration")
        named = None if calibration is None else Extra(*calibration)
        filters = tuple(Extra(*extra) for extra in content.pop("filters", ()))
        manifest = ClusterManifest(shards=shards, calibration=named, filters=filters, **content)
        if manifest.layout.bits and version < 3:
            raise ValueError(f"version {version} has no such store")
        _check(manifest)
    return manifest


def write_cluster(folder: Path, manifest: ClusterManifest) -> None:
    """Replaces the manifest atomically. After a crash there is the old one or, if the folder was synced, this one."""
    try:
        _check(manifest)
    except ValueError as problem:
        raise DamagedIndexError(f"{folder / NAME} can't be replaced by a new version: {problem}") from None
    newer = manifest.since is not None or bool(manifest.filters)
    version = 3 if manifest.layout.bits else 2 if newer else 1
    content: dict[str, Any] = {"format": FORMAT, "version": version, **asdict(manifest)}
    if version == 1:
        for name in NEWER:
            del content[name]
    write_sealed(folder / NAME, content)


def _check(manifest: ClusterManifest) -> None:
    """Raises `ValueError` for values that no writer writes, even if the checksum is right."""
    numbers = [
        manifest.next_sequence,
        manifest.added,
        manifest.deleted,
        0 if manifest.since is None else manifest.since,
    ]
    numbers += [] if manifest.codebook is None else [manifest.codebook]
    for shard in manifest.shards:
        numbers += [shard.crc, shard.documents, shard.tokens, shard.searchable]
    for one in manifest.calibrations:
        numbers.append(one.crc)
        if kind_of(one.name) != "calibration" or manifest.codebook is None:
            raise ValueError(f"{one.name!r} is not a calibration of a corpus with a codebook")
    if len(manifest.filters) > MOST_FILTERS:
        raise ValueError(f"there are {len(manifest.filters)} calibrations for filters")
    check_common(manifest, numbers)
    if not 1 <= len(manifest.shards) <= MOST_SHARDS:
        raise ValueError(f"there are {len(manifest.shards)} shards; 1 to {MOST_SHARDS} are allowed")
    for place, shard in enumerate(manifest.shards):
        if shard.folder != folder_name(place) or not SHARD_MANIFEST.fullmatch(shard.manifest):
            raise ValueError(f"shard {place} has the invalid manifest {shard.manifest!r} in {shard.folder!r}")
        if not shard.searchable <= shard.documents or not shard.searchable <= shard.tokens:
            raise ValueError(f"shard {place} counts more searchable documents than it has")
    if manifest.documents > manifest.next_sequence or manifest.next_sequence > SEQUENCE.most:
        raise ValueError(f"{manifest.documents} documents can't have different numbers below {manifest.next_sequence}")


MOST_SHARDS = 10_000
"""The limit, because the names of their folders have four digits."""


def shard_of(id: Id, shards: int) -> int:
    """The shard of an id: BLAKE2b of its type and text, modulo the number of shards.

    If the number of shards is doubled, the documents of each shard are split over two shards.

    >>> shard_of("a page", 16), shard_of(7, 16), shard_of("7", 16)
    (8, 8, 5)
    """
    text = b"s" + id.encode("utf-8", "surrogatepass") if isinstance(id, str) else b"i%d" % id
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % shards


def shards_of(ids: Sequence[Id], shards: int) -> NDArray[np.int64]:
    """The shard of each id.

    >>> shards_of(["a page", "7"], 16).tolist()
    [8, 5]
    """
    return np.fromiter((shard_of(id, shards) for id in ids), np.int64, len(ids))


def by_shard(ids: Sequence[Id], shards: int) -> dict[int, NDArray[np.int64]]:
    """For each shard with at least one of the ids: the positions of these ids in the given list, ascending.

    >>> {shard: places.tolist() for shard, places in by_shard(["a page", "7", "a page"], 16).items()}
    {5: [1], 8: [0, 2]}
    """
    which = shards_of(ids, shards)
    order = np.argsort(which, kind="stable")
    named, firsts = np.unique(which[order], return_index=True)
    return dict(zip(named.tolist(), np.split(order, firsts[1:]), strict=True)) if len(ids) else {}

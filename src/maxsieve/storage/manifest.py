"""The manifest: one small JSON file that lists the files of the index. Replacing it commits a change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from maxsieve.arrays import MAX_DIM
from maxsieve.common.files import opening_folder
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.sealed_json import read_sealed, reading_fields, write_sealed
from maxsieve.storage.segments import Layout, Similarity, Store

NAME = "manifest.json"
SHARDS_NAME = "cluster.json"
"""The file of a corpus in shards that corresponds to the manifest: see `maxsieve.cluster`."""
FORMAT = "maxsieve index"
SHARD_FORMAT = "maxsieve shard"
"""The format of a shard, whose documents have sequence numbers. So a shard is not opened as an index, or vice versa."""
VERSION = 4
"""An index is written as the oldest version that has its features: int8 vectors, a codebook and a calibration are of
version 2; lists, and calibrations that have them, of version 3; stores of residuals of version 4."""
NEWER = {2: ("extras", "added", "deleted"), 3: ("kept", "filters"), 4: ("codebooks",)}
"""The fields that only these versions, and later ones, have."""
NEWER_OF_SEGMENTS = {2: ("centroids", "centroids_crc"), 3: ("lists", "lists_crc"), 4: ("codebook",)}
"""The same for the entries of segments."""
KINDS = ("segment", "deleted", "records", "centroids", "lists")
"""The files of a segment, by suffix."""
EXTRA_KINDS = ("codebook", "calibration")
"""The files of the index as a whole, by suffix. A new kind is added here."""
FILE_NAME = re.compile(r"([0-9]{8,20})\.([a-z]{1,16})", re.ASCII)
UID = re.compile(r"[0-9a-f]{16}", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{32}", re.ASCII)
LARGEST = 2**62
"""Limit on the numbers in a manifest."""
MOST_FILTERS = 16
"""The most filters that an index keeps calibrations for."""
C = TypeVar("C", bound="Common")


@dataclass(frozen=True)
class SegmentEntry:
    """The manifest's entry for a segment: its files, and their numbers of documents and tokens.

    ``records`` is the file of its metadata, as the format calls it. ``codebook`` is the digest of the codebook of its
    residuals.
    """

    segment: str
    documents: int
    tokens: int
    deleted: str | None = None
    records: str | None = None
    records_crc: int = 0
    centroids: str | None = None
    centroids_crc: int = 0
    lists: str | None = None
    lists_crc: int = 0
    codebook: str | None = None

    @property
    def files(self) -> dict[str, str]:
        """The names of its files by kind, which is their suffix. Neighbours may have a file of lists together."""
        others = {
            "deleted": self.deleted,
            "records": self.records,
            "centroids": self.centroids,
            "lists": self.lists,
        }
        return {"segment": self.segment, **{kind: name for kind, name in others.items() if name is not None}}


class Extra(NamedTuple):
    """A file of the index as a whole: its name and its checksum."""

    name: str
    crc: int


@dataclass(frozen=True)
class Common:
    """The fields that all kinds of manifests have."""

    dim: int
    store: Store
    similarity: Similarity
    uid: str
    id_type: Literal["str", "int"] | None = None
    generation: int = 0

    @property
    def layout(self) -> Layout:
        """What all vectors have in common."""
        return Layout(self.dim, self.store, self.similarity)

    def successor(self: C, **changes: Any) -> C:
        """The next version."""
        return replace(self, generation=self.generation + 1, **changes)


@dataclass(frozen=True)
class Manifest(Common):
    """One version of the index. ``next_file`` numbers files and never goes back, so that no name is used twice.

    ``uid`` distinguishes the index from one that is made at the same place later. ``extras`` are files of blocks for
    the whole index, by kind, which is their suffix; if there are none, the field is left out. ``added`` and ``deleted``
    count documents since the calibration; ``kept`` is how many of the documents that are not deleted were there then
    (None: a calibration of version 2 has no such number). ``filters`` are calibrations for filters. A store of
    residuals has ``codebooks`` by digest: all that its segments name, one of which is that of ``extras``. The documents
    of a shard are ``sequenced``: each has its insertion order in the whole corpus.
    """

    next_file: int = 1
    segments: tuple[SegmentEntry, ...] = field(default=())
    extras: dict[str, Extra] = field(default_factory=dict)
    added: int = 0
    deleted: int = 0
    kept: int | None = None
    filters: tuple[Extra, ...] = ()
    codebooks: dict[str, Extra] = field(default_factory=dict)
    sequenced: bool = False

    @property
    def layout(self) -> Layout:
        """What all vectors have in common."""
        return Layout(self.dim, self.store, self.similarity, self.sequenced)

    @property
    def files(self) -> set[str]:
        """Names of all files it refers to."""
        return {name for entry in self.segments for name in entry.files.values()} | {
            extra.name for extra in (*self.extras.values(), *self.filters, *self.codebooks.values())
        }

    @property
    def version(self) -> int:
        """The oldest version of the format that has all of it."""
        if self.layout.bits:
            return 4
        if self.filters or self.kept is not None or any(entry.lists is not None for entry in self.segments):
            return 3
        return 2 if self.extras or self.store == "int8" or self.sequenced else 1


def kind_of(name: str) -> str | None:
    """The kind of a file that an index writes, by its name; None for any other name.

    >>> kind_of("00000003.segment"), kind_of("../00000003.segment"), kind_of("00000003.txt")
    ('segment', None, None)
    """
    match = FILE_NAME.fullmatch(name)
    return match[2] if match is not None and match[2] in (*KINDS, *EXTRA_KINDS) else None


def read_manifest(folder: Path) -> Manifest:
    """The current version of an index, checked."""
    try:
        with opening_folder(folder, "an index", NAME):
            return read_version(folder / NAME, FORMAT)
    except FileNotFoundError:
        if not (folder / SHARDS_NAME).exists():
            raise
        wrong = f"{folder} is a corpus in shards, not one index; maxsieve.Index.open opens either"
        raise FileNotFoundError(wrong) from None


def read_version(path: Path, form: str, crc: int | None = None) -> Manifest:
    """The manifest in a file, checked; with ``crc``, it must be the one whose bytes have that CRC-32."""
    content, found = read_sealed(path, {form: VERSION})
    if crc is not None and found != crc:
        raise DamagedIndexError(f"{path} is not the expected manifest")
    with reading_fields(path):
        version = content.pop("version")
        if any(name in content for newer, names in NEWER.items() if newer > version for name in names):
            raise ValueError(f"version {version!r} has no such manifest")
        sequenced = content.pop("format") == SHARD_FORMAT
        segments = tuple(SegmentEntry(**entry) for entry in content.pop("parts"))
        extras = {kind: Extra(*extra) for kind, extra in content.pop("extras", {}).items()}
        filters = tuple(Extra(*extra) for extra in content.pop("filters", ()))
        codebooks = {digest: Extra(*extra) for digest, extra in content.pop("codebooks", {}).items()}
        manifest = Manifest(
            segments=segments, extras=extras, filters=filters, codebooks=codebooks, **content, sequenced=sequenced
        )
        if manifest.layout.bits and version < manifest.version:
            raise ValueError(f"version {version!r} has no such store")
        _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises `ValueError` for values that maxsieve never writes, even if the checksum is right."""
    numbers = [manifest.next_file, manifest.added, manifest.deleted, 0 if manifest.kept is None else manifest.kept]
    for entry in manifest.segments:
        numbers += [entry.documents, entry.tokens, entry.records_crc, entry.centroids_crc, entry.lists_crc]
    others = [extra for extra in manifest.codebooks.values() if extra != manifest.extras.get("codebook")]
    numbers += [extra.crc for extra in (*manifest.extras.values(), *manifest.filters, *others)]
    check_common(manifest, numbers)
    pairs = [(kind, extra.name) for kind, extra in manifest.extras.items()]
    pairs += [("codebook", extra.name) for extra in others]
    pairs += [("calibration", extra.name) for extra in manifest.filters]
    before: str | None = None
    for entry in manifest.segments:
        # segments that follow each other may have lists together
        pairs += [pair for pair in entry.files.items() if pair != ("lists", before)]
        before = entry.lists
    names: set[str] = set()
    for kind, name in pairs:
        if kind_of(name) != kind or int(name.partition(".")[0]) >= manifest.next_file or name in names:
            raise ValueError(f"{name!r} is not a file of {kind}")
        names.add(name)
    if len(manifest.filters) > MOST_FILTERS:
        raise ValueError(f"there are {len(manifest.filters)} calibrations for filters")
    if not set(manifest.extras) <= set(EXTRA_KINDS) or ("codebook" not in manifest.extras and manifest.extras):
        raise ValueError(f"the files of the index as a whole are {sorted(manifest.extras)}")
    if len({entry.centroids is not None for entry in manifest.segments}) > 1:
        raise ValueError("either all segments have centroids, or none has")
    coded = any(entry.centroids or entry.lists for entry in manifest.segments) or manifest.filters
    if coded and "codebook" not in manifest.extras:
        raise ValueError("centroids, lists and calibrations need a codebook")
    _check_codebooks(manifest)


def _check_codebooks(manifest: Manifest) -> None:
    """Raises `ValueError` if segments of residuals do not have their codebooks, or others have any."""
    current, digests = manifest.extras.get("codebook"), set(manifest.codebooks)
    wanted = {entry.codebook for entry in manifest.segments}
    if digests:
        right = manifest.layout.bits > 0 and wanted <= digests and current in manifest.codebooks.values()
    else:  # also a store of residuals that has byte codes as yet, and maybe a codebook for lists
        right = wanted <= {None}
    if not right or any(entry.centroids for entry in manifest.segments if manifest.layout.bits):
        raise ValueError("the segments do not have the codebooks of their store")
    if not all(DIGEST.fullmatch(digest) for digest in digests):
        raise ValueError(f"codebooks are named {sorted(digests)}")


def check_common(manifest: Common, numbers: Iterable[int]) -> None:
    """Raises `ValueError` for values that no kind of manifest has."""
    whole = all(
        type(number) is int and 0 <= number < LARGEST for number in (manifest.dim, manifest.generation, *numbers)
    )
    if not whole or not 1 <= manifest.dim <= MAX_DIM:
        raise ValueError("a number is out of range")
    if manifest.store not in get_args(Store) or manifest.similarity not in get_args(Similarity):
        raise ValueError(f"store is {manifest.store!r} and similarity {manifest.similarity!r}")
    if manifest.id_type not in ("str", "int", None) or not UID.fullmatch(manifest.uid):
        raise ValueError(f"ids are of type {manifest.id_type!r}, the index is {manifest.uid!r}")


def write_manifest(folder: Path, manifest: Manifest, name: str = NAME) -> int:
    """Replaces a manifest atomically: after a crash there is the old one or, once the folder is synced, this one.

    Returns the CRC-32 of its bytes.
    """
    try:
        _check(manifest)
    except ValueError as problem:  # a forged manifest may have no valid successor: keep it
        raise DamagedIndexError(f"{folder / name} can't be followed by another: {problem}") from None
    form = SHARD_FORMAT if manifest.sequenced else FORMAT
    version = manifest.version
    content: dict[str, Any] = {"format": form, "version": version, **asdict(manifest)}
    del content["sequenced"]
    content["parts"] = list(content.pop("segments"))
    for newer in range(version + 1, VERSION + 1):
        for name_of_field in NEWER[newer]:
            del content[name_of_field]
        for part in content["parts"]:
            for name_of_field in NEWER_OF_SEGMENTS[newer]:
                del part[name_of_field]
    return write_sealed(folder / name, content)

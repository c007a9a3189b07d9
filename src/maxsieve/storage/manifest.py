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
VERSION = 2
"""An index without features of version 2 (int8 vectors, a codebook, a calibration) is written as version 1."""
NEWER = {"extras", "added", "deleted"}
"""The fields that only version 2 has."""
KINDS = ("segment", "deleted", "records", "centroids")
"""The files of a segment, by suffix."""
EXTRA_KINDS = ("codebook", "calibration")
"""The files of the index as a whole, by suffix. A new kind is added here."""
FILE_NAME = re.compile(r"([0-9]{8,20})\.([a-z]{1,16})", re.ASCII)
UID = re.compile(r"[0-9a-f]{16}", re.ASCII)
LARGEST = 2**62
"""Limit on the numbers in a manifest."""
C = TypeVar("C", bound="Common")


@dataclass(frozen=True)
class SegmentEntry:
    """The manifest's entry for a segment: its files, and their numbers of documents and tokens.

    ``records`` is the file of its metadata, as the format calls it.
    """

    segment: str
    documents: int
    tokens: int
    deleted: str | None = None
    records: str | None = None
    records_crc: int = 0
    centroids: str | None = None
    centroids_crc: int = 0

    @property
    def files(self) -> dict[str, str]:
        """The names of its files by kind, which is their suffix."""
        others = {"deleted": self.deleted, "records": self.records, "centroids": self.centroids}
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
    count documents since the calibration. The documents of a shard are ``sequenced``: each has its insertion order in
    the whole corpus.
    """

    next_file: int = 1
    segments: tuple[SegmentEntry, ...] = field(default=())
    extras: dict[str, Extra] = field(default_factory=dict)
    added: int = 0
    deleted: int = 0
    sequenced: bool = False

    @property
    def layout(self) -> Layout:
        """What all vectors have in common."""
        return Layout(self.dim, self.store, self.similarity, self.sequenced)

    @property
    def files(self) -> set[str]:
        """Names of all files it refers to."""
        return {name for entry in self.segments for name in entry.files.values()} | {
            extra.name for extra in self.extras.values()
        }


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
        if version == 1 and NEWER & content.keys():
            raise ValueError(f"version {version!r} has no such manifest")
        sequenced = content.pop("format") == SHARD_FORMAT
        segments = tuple(SegmentEntry(**entry) for entry in content.pop("parts"))
        extras = {kind: Extra(*extra) for kind, extra in content.pop("extras", {}).items()}
        manifest = Manifest(segments=segments, extras=extras, **content, sequenced=sequenced)
        _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises `ValueError` for values that maxsieve never writes, even if the checksum is right."""
    numbers = [manifest.next_file, manifest.added, manifest.deleted]
    for entry in manifest.segments:
        numbers += [entry.documents, entry.tokens, entry.records_crc, entry.centroids_crc]
    numbers += [extra.crc for extra in manifest.extras.values()]
    check_common(manifest, numbers)
    pairs = [pair for entry in manifest.segments for pair in entry.files.items()]
    names: set[str] = set()
    for kind, name in (*pairs, *((kind, extra.name) for kind, extra in manifest.extras.items())):
        if kind_of(name) != kind or int(name.partition(".")[0]) >= manifest.next_file or name in names:
            raise ValueError(f"{name!r} is not a file of {kind}")
        names.add(name)
    if not set(manifest.extras) <= set(EXTRA_KINDS) or ("codebook" not in manifest.extras and manifest.extras):
        raise ValueError(f"the files of the index as a whole are {sorted(manifest.extras)}")
    if any((entry.centroids is not None) != ("codebook" in manifest.extras) for entry in manifest.segments):
        raise ValueError("either all segments have centroids and there is a codebook, or neither")


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
    newer = bool(manifest.extras) or manifest.store == "int8" or manifest.sequenced
    form = SHARD_FORMAT if manifest.sequenced else FORMAT
    content: dict[str, Any] = {"format": form, "version": VERSION if newer else 1, **asdict(manifest)}
    del content["sequenced"]
    content["parts"] = list(content.pop("segments"))
    if not newer:
        for field_name in NEWER:
            del content[field_name]
        for part in content["parts"]:
            del part["centroids"], part["centroids_crc"]
    return write_sealed(folder / name, content)

"""The manifest: one small JSON file that says which files make up the index. Replacing it is what commits a change."""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from maxsieve.arrays import MAX_DIM
from maxsieve.common.files import naming_os_errors
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.segments import Similarity, Store

NAME = "manifest.json"
FORMAT = "maxsieve index"
VERSION = 1
FILE_NAME = re.compile(r"([0-9]{8,20})\.(segment|deleted|records)")


@dataclass(frozen=True)
class Part:
    """One segment: its files, and how many documents and tokens they hold."""

    segment: str
    documents: int
    tokens: int
    deleted: str | None = None
    records: str | None = None
    records_crc: int = 0

    @property
    def files(self) -> list[str]:
        """Names of all its files."""
        return [name for name in (self.segment, self.deleted, self.records) if name is not None]


@dataclass(frozen=True)
class Manifest:
    """One version of the index. ``next_file`` numbers files and never goes back, so that no name is used twice.

    ``uid`` tells the index from another that was made at the same place later.
    """

    dim: int
    store: Store
    similarity: Similarity
    uid: str
    id_type: Literal["str", "int"] | None = None
    generation: int = 0
    next_file: int = 1
    parts: tuple[Part, ...] = field(default=())

    def successor(self, **changes: Any) -> Manifest:
        """The next version."""
        return replace(self, generation=self.generation + 1, **changes)

    @property
    def files(self) -> set[str]:
        """Names of all files it refers to."""
        return {name for part in self.parts for name in part.files}


def read_manifest(folder: Path) -> Manifest:
    """The current version, checked."""
    path = folder / NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        what = "does not exist" if not folder.exists() else f"is no index: it has no {NAME}"
        raise FileNotFoundError(f"{folder} {what}") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"{folder} is no folder; an index is one") from None
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DamagedIndexError(f"{path} is no manifest of maxsieve")
        if type(content["version"]) is int and content["version"] > VERSION:
            raise MaxsieveError(f"{path} has format version {content['version']}; this maxsieve reads up to {VERSION}")
        if content.pop("checksum") != _checksum(content):
            raise DamagedIndexError(f"{path} does not have its checksum")
        del content["format"], content["version"]
        parts = tuple(Part(**part) for part in content.pop("parts"))
        manifest = Manifest(parts=parts, **content)
        _check(manifest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise DamagedIndexError(f"{path} can't be read: {problem!r}") from None
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises `ValueError` for what no writer writes, however well it is checksummed."""
    numbers = [manifest.dim, manifest.generation, manifest.next_file]
    for part in manifest.parts:
        numbers += [part.documents, part.tokens, part.records_crc]
    if not all(type(number) is int and number >= 0 for number in numbers) or not 1 <= manifest.dim <= MAX_DIM:
        raise ValueError("a number is out of range")
    if manifest.store not in get_args(Store) or manifest.similarity not in get_args(Similarity):
        raise ValueError(f"store is {manifest.store!r} and similarity {manifest.similarity!r}")
    if manifest.id_type not in ("str", "int", None) or type(manifest.uid) is not str:
        raise ValueError(f"ids are of type {manifest.id_type!r}, the index is {manifest.uid!r}")
    names: set[str] = set()
    for part in manifest.parts:
        for kind, name in (("segment", part.segment), ("deleted", part.deleted), ("records", part.records)):
            if name is None and kind != "segment":
                continue
            match = FILE_NAME.fullmatch(name or "")
            if match is None or match[2] != kind or int(match[1]) >= manifest.next_file or name in names:
                raise ValueError(f"{name!r} is no file of {kind}")
            names.add(match[0])


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replaces the manifest atomically: after a crash there is the old one or, once the folder is synced, this one."""
    content = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    content["parts"] = [asdict(part) for part in manifest.parts]
    content["checksum"] = _checksum(content)
    temporary = folder / (NAME + ".tmp")
    with naming_os_errors(temporary), open(temporary, "wb") as file:
        file.write(json.dumps(content, indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / NAME)


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())

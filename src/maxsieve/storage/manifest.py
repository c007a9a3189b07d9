"""The manifest: one small JSON file that says which files make up the index. Replacing it is what commits a change."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from maxsieve.errors import DamagedIndexError, MaxsieveError

NAME = "manifest.json"
FORMAT = "maxsieve index"
VERSION = 1


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
    store: Literal["float32", "float16"]
    similarity: Literal["dot", "cosine"]
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
        if isinstance(content.get("version"), int) and content["version"] > VERSION:
            raise MaxsieveError(f"{path} has format version {content['version']}; this maxsieve reads up to {VERSION}")
        if content.pop("checksum") != _checksum(content):
            raise DamagedIndexError(f"{path} does not have its checksum")
        del content["format"], content["version"]
        parts = tuple(Part(**part) for part in content.pop("parts"))
        manifest = Manifest(parts=parts, **content)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DamagedIndexError(f"{path} can't be read: {problem!r}") from None
    for name in manifest.files:
        if Path(name).name != name:
            raise DamagedIndexError(f"{path} refers to {name!r}, which is no file name")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replaces the manifest atomically and durably: after a crash there is the old one or this one."""
    content = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    content["parts"] = [asdict(part) for part in manifest.parts]
    content["checksum"] = _checksum(content)
    temporary = folder / (NAME + ".tmp")
    with open(temporary, "wb") as file:
        file.write(json.dumps(content, indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())

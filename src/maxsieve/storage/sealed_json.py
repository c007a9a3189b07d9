"""Small JSON files with a checksum, which are always replaced completely. Replacing one commits a change."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.common.files import opening_own_file, read_small, replacing_as
from maxsieve.errors import DamagedIndexError, MaxsieveError

MOST_BYTES = 16 << 20
"""Limit on such a file: enough for a manifest of about 70,000 segments."""


class Sealed(NamedTuple):
    """The content of a file without its checksum, and the CRC-32 of all its bytes."""

    content: dict[str, Any]
    crc: int


def read_sealed(path: Path, newest: dict[str, int]) -> Sealed:
    """Reads a file in one of the given formats, up to a version of each. The caller checks the fields."""
    with opening_own_file(path):
        text = read_small(path, at_most=MOST_BYTES)
    with reading_fields(path):
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") not in newest:
            raise DamagedIndexError(f"{path} is not a manifest of maxsieve")
        version, known = content["version"], newest[content["format"]]
        if type(version) is int and version > known:
            raise MaxsieveError(f"{path} has format version {version}; this maxsieve reads up to {known}")
        if content.pop("checksum") != seal(content):
            raise DamagedIndexError(f"{path} has a wrong checksum")
        if type(version) is not int or version < 1:
            raise ValueError(f"version {version!r} has no such manifest")
    return Sealed(content, zlib.crc32(text))


def write_sealed(path: Path, content: dict[str, Any]) -> int:
    """Replaces a file atomically, and returns the CRC-32 of its bytes. The caller syncs the folder."""
    sealed = {**content, "checksum": seal(content)}
    text = json.dumps(sealed, indent=1).encode()
    with replacing_as(path.with_name(path.name + ".tmp"), path) as file:
        file.write(text)
    return zlib.crc32(text)


@contextmanager
def reading_fields(path: Path) -> Iterator[None]:
    """Inside, an error about the fields of a file becomes damage of that file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise DamagedIndexError(f"{path} can't be read: {problem!r}") from None


def seal(content: dict[str, Any]) -> int:
    """The checksum for a file with this content."""
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())

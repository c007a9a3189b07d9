"""Files that are archives of other files: their sizes are checked first, and their XML is parsed without entities."""

from __future__ import annotations

import zipfile
from typing import Any, BinaryIO

from maxsieve.common.optional import optional

LARGEST_PARTS = 1 << 28
"""Limit on the decompressed bytes of all its files: they are read into memory."""

MOST_PARTS = 10_000


def check_parts(file: BinaryIO) -> None:
    """Refuses an archive that decompresses to too much. `zipfile` reads no more of a file than its declared size."""
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    if len(parts) > MOST_PARTS:
        raise ValueError(f"it contains {len(parts):,} files; at most {MOST_PARTS:,} are read")
    if (size := sum(part.file_size for part in parts)) > LARGEST_PARTS:
        raise ValueError(f"it decompresses to {size:,} bytes; at most {LARGEST_PARTS:,} are read")
    file.seek(0)


def open_parts(file: BinaryIO) -> zipfile.ZipFile:
    """The archive, after a check of its size."""
    check_parts(file)
    return zipfile.ZipFile(file)


def parse_part(archive: zipfile.ZipFile, name: str) -> Any:
    """The root element of a file of XML. Entities are not expanded, and nothing else is opened."""
    etree = optional("lxml.etree", "files")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    return etree.fromstring(archive.read(name), parser)


def local(element: Any) -> str:
    """The name of an element without its namespace; empty for comments and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute, whatever its namespace; empty if there is none."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")

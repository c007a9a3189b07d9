"""The sync record of a folder that a collection follows: the size, time and digest of each file.

The record is a file of lines in ``sync/`` inside the collection. Each line has a checksum; the last line about a
document counts. The record is not trusted alone: a document belongs to the folder only if the digest of its text and
metadata is in the record. So if a record is lost, damaged, forged or old, files are read again, but no document is
deleted that a sync did not add.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from maxsieve.common.files import (
    check_own_folder,
    naming_os_errors,
    open_regular,
    regular_handle,
    replacing_as,
    sync_folder,
)
from maxsieve.common.handles import sync_file
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.metadata import to_json

FOLDER = "sync"
FORMAT, VERSION = "maxsieve sync", 1
MOST_BYTES = 1 << 30
"""Limit on the bytes of a record, which takes about 200 per file; a larger file is not a record."""

LONGEST_LINE = 1 << 16
SPARE_LINES = 1000
MOST_DIGESTS = 4
_NAME = re.compile(r"[0-9a-f]{32}\.record")
_is_digest = re.compile(r"[0-9a-f]{64}").fullmatch
_scan = json.JSONDecoder().raw_decode
_LARGEST = 1 << 63


class Seen(NamedTuple):
    """A file's size and modification time in nanoseconds; if both are equal, the file has not changed."""

    size: int
    mtime: int


class Entry(NamedTuple):
    """What is known of a document: the digests it may have if a sync added it, and the state of its file at that time.

    Two digests mean that it was about to be replaced. No file state means that the file must be read again. Without
    digests, the file could not be read in this state.
    """

    digests: tuple[str, ...]
    seen: Seen | None


FORGOTTEN = Entry((), None)
"""Removes an entry: the document is no longer known."""


def digest_of(text: str, metadata: Any, picture: str | None = None) -> str:
    """The digest of a document as a collection stores it; ``picture`` is that of a page's picture.

    >>> digest_of("The fox", {"n": 1})[:16]
    '735adc5e9a47816c'
    """
    return hashlib.sha256(
        to_json([text, metadata] if picture is None else [text, metadata, picture]).encode()
    ).hexdigest()


class SyncRecord:
    """The record of one folder."""

    def __init__(self, path: Path, folder: str, prefix: str = "", include: tuple[str, ...] = ()) -> None:
        self.path, self.folder, self.prefix, self.include = path, folder, prefix, include
        self.entries: dict[str, Entry] = {}
        self.bad: dict[str, Seen] = {}
        """The files that could not be read, as they were then."""
        self._lines = 0
        """How many lines the file has; 0 if no lines can be appended."""

    @classmethod
    def read(cls, path: Path) -> SyncRecord | None:
        """Reads a record; None if there is no usable one. Damaged lines are left out."""
        try:
            with open_regular(path) as file, naming_os_errors(path):
                return cls._parsed(path, file) if os.fstat(file.fileno()).st_size <= MOST_BYTES else None
        except (OSError, ValueError):  # no file, or a link, a pipe, a device, a folder
            return None

    @classmethod
    def _parsed(cls, path: Path, file: BinaryIO) -> SyncRecord | None:
        head = _unsealed(file.readline(LONGEST_LINE))
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            return None
        version, folder, prefix = head.get("version"), head.get("folder"), head.get("prefix")
        include = head.get("include", [])
        if type(version) is not int or version > VERSION:
            raise MaxsieveError(f"{path} has format version {version!r}; this maxsieve reads up to {VERSION}")
        if not (isinstance(folder, str) and isinstance(prefix, str) and path == record_path(path.parents[1], folder)):
            return None
        if not (isinstance(include, list) and all(isinstance(pattern, str) for pattern in include)):
            return None
        record, line = cls(path, folder, prefix, tuple(include)), b"\n"
        lines = 1
        while following := file.readline(LONGEST_LINE):
            line = following
            lines += 1
            if (parsed := _entry(_unsealed(line))) is not None:
                record._take(*parsed)
        record._lines = lines if line.endswith(b"\n") else 0  # the last line was cut off by a crash
        return record

    def rename(self, prefix: str, include: tuple[str, ...] | None = None) -> None:
        """Changes the prefix, and the patterns if they are given; the next write puts them into the file."""
        include = self.include if include is None else include
        self._lines = self._lines if (prefix, include) == (self.prefix, self.include) else 0
        self.prefix, self.include = prefix, include

    def note(self, entries: Mapping[str, Entry]) -> None:
        """Appends lines to the file durably. A file that has become too long is rewritten."""
        for id, entry in entries.items():
            self._take(id, entry)
        self._lines += len(entries) if self._lines else 0
        if not self._lines or self._lines > 5 * len(self.entries) // 4 + SPARE_LINES:
            self.write()
            return
        try:
            handle = regular_handle(self.path, os.O_WRONLY | os.O_APPEND)
        except ValueError as problem:
            raise DamagedIndexError(str(problem)) from None
        with naming_os_errors(self.path), open(handle, "ab") as file:
            file.writelines(_sealed(_line(id, entry)) for id, entry in entries.items())
            file.flush()
            sync_file(file.fileno())

    def write(self) -> None:
        """Replaces the file, durably."""
        head = {"format": FORMAT, "version": VERSION, "folder": self.folder, "prefix": self.prefix}
        head |= {"include": list(self.include)} if self.include else {}
        with replacing_as(self.path.with_name(self.path.name + ".tmp"), self.path) as file:
            file.write(_sealed(head))
            file.writelines(_sealed(_line(id, entry)) for id, entry in self.entries.items())
            file.writelines(_sealed(_line(id, Entry((), seen))) for id, seen in self.bad.items())
        sync_folder(self.path.parent)
        self._lines = 1 + len(self.entries) + len(self.bad)

    def _take(self, id: str, entry: Entry) -> None:
        self.bad.pop(id, None)
        if entry.digests:
            self.entries[id] = entry
        elif entry.seen is not None:
            self.bad[id] = entry.seen  # a document that was made from it earlier stays
        else:
            self.entries.pop(id, None)


def record_path(collection: Path, folder: str) -> Path:
    """The path of a folder's record."""
    digest = hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()
    return collection / FOLDER / f"{digest[:32]}.record"


def read_records(collection: Path) -> Iterator[SyncRecord]:
    """The records of all folders that the collection follows."""
    folder = check_own_folder(collection / FOLDER)
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        if _NAME.fullmatch(path.name) and (record := SyncRecord.read(path)) is not None:
            yield record


@contextmanager
def sync_lock(collection: Path) -> Iterator[None]:
    """Admits one sync at a time: another one raises `IndexLockedError`."""
    folder = check_own_folder(collection / FOLDER)
    folder.mkdir(exist_ok=True)
    with writer_lock(folder):
        yield


def _line(id: str, entry: Entry) -> list[Any]:
    return [id, list(entry.digests), *(entry.seen or (None, None))]


def _sealed(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _unsealed(line: bytes) -> Any:
    """The value on a line, or None if the line is damaged."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        plain = text.decode()
        value, end = _scan(plain)
        return value if end == len(plain) else None
    except (ValueError, RecursionError):
        return None


def _entry(line: Any) -> tuple[str, Entry] | None:
    """The entry on a line, or None if it is not a valid entry."""
    if not (isinstance(line, list) and len(line) == 4):
        return None
    id, digests, size, mtime = line
    if not (isinstance(id, str) and isinstance(digests, list) and len(digests) <= MOST_DIGESTS):
        return None
    for digest in digests:
        if not (isinstance(digest, str) and _is_digest(digest)):
            return None
    if size is None and mtime is None:
        return id, Entry(tuple(digests), None)
    for number in (size, mtime):
        if not (type(number) is int and -_LARGEST <= number < _LARGEST):
            return None
    return id, Entry(tuple(digests), Seen(size, mtime))

"""Metadata: a JSON-compatible value for each document, or none. In memory they are JSON texts, on disk an SQLite file.

There is one file per segment, which is written once and then only read.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Protocol

from maxsieve.common.files import open_regular, opening_own_file, regular_handle, replacing_as
from maxsieve.common.handles import read_at
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.filter_masks import ROWS, SCHEMA, Mask, Masks, find_matches, match_texts
from maxsieve.storage.filter_sql import Question
from maxsieve.storage.first_page import MOST, lists_only
from maxsieve.where import Where

BATCH = f"FROM records WHERE position >= ? AND position < ? LIMIT {ROWS:d}"
"""The records in a range of `ROWS` positions: a forged file may have more."""


class Metadata(Protocol):
    """The metadata of a segment's documents, by position in the segment."""

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        """The metadata of some documents; those without any are left out."""

    def texts(self) -> Iterable[tuple[int, str]]:
        """All positions and JSON texts, by position."""

    def matching(self, where: Where, documents: int) -> Mask:
        """Whether each of the segment's documents matches a filter."""


class Texts:
    """Metadata in memory: JSON texts by position."""

    def __init__(self, texts: dict[int, str]) -> None:
        self._texts, self._masks = texts, Masks()

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        """That of some documents."""
        return {i: from_json(self._texts[i]) for i in positions if i in self._texts}

    def texts(self) -> Iterable[tuple[int, str]]:
        """All of them."""
        return self._texts.items()

    def matching(self, where: Where, documents: int) -> Mask:
        """Whether each document matches."""

        def read(position: int) -> Any:
            return from_json(self._texts[position]) if position in self._texts else None

        return self._masks.get(where, lambda: match_texts(where, documents, self._texts, read))


def write_metadata(path: Path, texts: Iterable[tuple[int, str]]) -> int | None:
    """Writes ``(position, JSON text)`` pairs durably; returns the file's CRC-32. No pairs: no file, None."""
    iterator = iter(texts)
    if (first := next(iterator, None)) is None:
        return None
    temporary = path.with_name(path.name + ".tmp")
    with replacing_as(temporary, path):
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute(SCHEMA)
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO records VALUES (?, ?)", chain([first], iterator))
                connection.execute("COMMIT")
        except sqlite3.OperationalError as problem:
            code = errno.ENOSPC if "full" in str(problem) else errno.EIO
            raise OSError(code, f"can't write: {problem}", os.fspath(temporary)) from problem
        with open_regular(temporary) as written:
            return _crc(written.fileno())


def to_json(value: Any) -> str:
    """Metadata as JSON; a `TypeError` names what JSON can't represent.

    >>> to_json({1: "a", "1": "b"})
    '{"1":"b"}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if _has_odd_names(value):  # two keys may be equal as text: then the last counts
            return to_json(json.loads(text))
        if any("\ud800" <= letter <= "\udfff" for letter in text):  # UTF-8 can't encode them, JSON can escape them
            text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        return text
    except (TypeError, ValueError, RecursionError) as problem:
        raise TypeError(f"metadata must be what JSON can hold: {problem}") from None


def _has_odd_names(value: Any) -> bool:
    """Whether an object in it has a key that is not a str."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if not all(isinstance(name, str) for name in part):
                return True
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
    return False


def from_json(text: str) -> Any:
    """Reads what `to_json` has written. NaN and infinities, which it never writes, are a `ValueError`.

    >>> from_json('[1e999]')
    Traceback (most recent call last):
    ValueError: 1e999 is not a number that JSON can represent
    """
    return _DECODER.decode(text)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is not a number that JSON can represent")
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def to_texts(metadata: Iterable[Any] | None, count: int | None) -> list[str | None] | None:
    """A JSON text for each document, None where there is no metadata."""
    if metadata is None:
        return None
    if isinstance(metadata, (str, bytes, dict)):
        raise TypeError(f"metadata must be a list with a record for each document, not {type(metadata).__name__}")
    texts = [None if record is None else to_json(record) for record in metadata]
    if count is not None and len(texts) != count:
        raise ValueError(f"metadata has {len(texts)} records for {count} documents")
    return texts


class MetadataFile:
    """The metadata of one segment. Its file stays open, so that it can be read after a compaction has removed it."""

    def __init__(self, path: Path, crc: int, documents: int) -> None:
        self.path, self._crc, self._documents = path, crc, documents
        self._guard, self._masks, self._sized = threading.Lock(), Masks(), False
        with opening_own_file(path):
            self._handle = regular_handle(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._handle)
        status = os.fstat(self._handle)
        self.nbytes = status.st_size
        if not self.nbytes:
            raise DamagedIndexError(f"{path} is empty")
        if not lists_only(read_at(self._handle, MOST, 0), "records", SCHEMA):
            raise DamagedIndexError(f"{path} is not a file of records")
        uri = f"{_uri_of(path.absolute())}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            weakref.finalize(self, self._connection.close)
            _harden(self._connection)
        except sqlite3.DatabaseError as problem:
            raise self._failure(problem) from None
        self._ask("SELECT 1 FROM sqlite_master")  # reads the definitions now, and not with the first search
        # SQLite opens by name, and would follow a link that has replaced the file since we checked it.
        if not os.path.samestat(os.stat(path, follow_symlinks=False), status):
            raise DamagedIndexError(f"{path} became another file while it was opened")

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        """The metadata of some documents; those without any are left out."""
        return self._read(positions, _Room(self.nbytes))

    def _read(self, positions: Sequence[int], room: _Room) -> dict[int, Any]:
        found: dict[int, Any] = {}
        try:
            for position in dict.fromkeys(positions):
                for (text,) in self._ask("SELECT record FROM records WHERE position = ?", (position,)):
                    room.take(len(text))
                    found[position] = from_json(text)
        except (ValueError, TypeError, RecursionError) as problem:
            raise self._unreadable(problem) from None
        return found

    def texts(self) -> Iterator[tuple[int, str]]:
        """All positions and JSON texts, by position. Nothing is locked between two of them."""
        self._check_sizes()
        last = -1
        for first in range(0, self._documents, ROWS):
            for position, text in self._ask(f"SELECT position, record {BATCH}", (first, first + ROWS)):
                if not (isinstance(text, str) and last < position < self._documents):
                    raise self._unreadable("a record that belongs to no document")
                yield position, text
                last = position
        if self._ask("SELECT position FROM records WHERE position >= ? LIMIT 1", (self._documents,)):
            raise self._unreadable("a record that belongs to no document")

    def matching(self, where: Where, documents: int) -> Mask:
        """Whether each document matches."""

        def find() -> Mask:
            self._check_sizes()
            room = _Room(self.nbytes)
            return find_matches(where, documents, self._rows, lambda i: self._read([i], room).get(i))

        return self._masks.get(where, find)

    def _check_sizes(self) -> None:
        """Raises if all records are longer than the file. Then they share its pages: reading them might never end.

        It asks for the same rows as those who read them. In a forged file, other ranges may have other rows.
        """
        if self._sized:
            return
        room = _Room(self.nbytes)
        try:
            for first in range(0, self._documents, ROWS):
                with self._guard:
                    sizes = self._connection.execute(
                        f"SELECT length(CAST(record AS BLOB)) {BATCH}", (first, first + ROWS)
                    )
                    for (size,) in sizes:
                        room.take(size)
        except (sqlite3.Error, ValueError, TypeError) as problem:
            raise self._failure(problem) from None
        self._sized = True

    def verify(self, advance: Callable[[int], None]) -> None:
        """Compares the file's checksum, and checks that every text is JSON."""
        if _crc(self._handle) != self._crc:
            raise DamagedIndexError(f"{self.path} has a wrong checksum")
        try:
            for _, text in self.texts():
                from_json(text)
        except (ValueError, RecursionError) as problem:
            raise self._unreadable(problem) from None
        advance(self.nbytes)

    def _rows(self, question: Question, first: int) -> Iterator[tuple[int, int | None]]:
        last = min(first + ROWS, self._documents)
        for position, verdict in self._ask(question.text, question.between(first, last)):
            if not first <= position < last:  # rows of a forged file need not be in order
                raise self._unreadable("a record that belongs to no document")
            yield position, verdict

    def _ask(self, question: str, values: tuple[int, ...] | dict[str, Any] = ()) -> list[Any]:
        try:
            with self._guard:
                return self._connection.execute(question, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # even SQLite's message may contain damaged text
            raise self._failure(problem) from None

    def _failure(self, problem: Exception) -> Exception:
        """The error to raise for an error of SQLite. A file that a writer has just removed is not damage."""
        if "unable to open" in str(problem) and not self.path.exists():
            return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(self.path))
        return self._unreadable(problem)

    def _unreadable(self, problem: object) -> DamagedIndexError:
        return DamagedIndexError(f"{self.path} can't be read: {problem}")


class _Room:
    """Counts what is read from a file, which is no more than the file has, unless it is forged."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("its records are longer than the file")


def _uri_of(path: PurePath) -> str:
    """A path as a URI for SQLite. The name of a server, in a path of Windows, stays part of the path.

    >>> from pathlib import PureWindowsPath
    >>> _uri_of(PureWindowsPath("C:/100% mine/it")), _uri_of(PureWindowsPath("//server/share/it"))
    ('file:///C:/100%25%20mine/it', 'file:////server/share/it')
    """
    uri = path.as_uri()
    return uri if uri.startswith("file:///") else uri.replace("file://", "file:////", 1)


def _harden(connection: sqlite3.Connection) -> None:
    """Makes sure that SQLite only reads the file: as it is, without mapping it, and with a cache of usual size."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA cache_size = -2000")  # the file itself may name another one


def _crc(handle: int) -> int:
    """CRC-32 of a whole file. It is not mapped: if it is truncated meanwhile, the CRC is wrong, and nothing crashes."""
    crc = at = 0
    while piece := read_at(handle, 1 << 20, at):
        crc, at = zlib.crc32(piece, crc), at + len(piece)
    return crc

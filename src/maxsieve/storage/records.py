"""Metadata: one JSON record per document, in an SQLite file beside the segment. Written once, then read only."""

from __future__ import annotations

import errno
import json
import mmap
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from maxsieve.common.files import naming_os_errors
from maxsieve.errors import DamagedIndexError

SCHEMA = "CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)"
BATCH = 1000
"""Records read at a time by `Records.items`."""


def write_records(path: Path, records: Iterable[tuple[int, str]]) -> int | None:
    """Writes ``(position, JSON text)`` pairs durably; returns the file's CRC-32. No pairs: no file, None."""
    iterator = iter(records)
    if (first := next(iterator, None)) is None:
        return None
    temporary = path.with_name(path.name + ".tmp")
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
    with naming_os_errors(temporary), open(temporary, "rb+") as file:
        os.fsync(file.fileno())
        crc = _crc(iter(lambda: file.read(1 << 20), b""))
    os.replace(temporary, path)
    return crc


def to_json(record: Any) -> str:
    """The record as JSON, or a `TypeError` that says what JSON can't hold."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if any("\ud800" <= letter <= "\udfff" for letter in text):  # half a pair: no UTF-8, but JSON can escape it
            text = json.dumps(record, allow_nan=False, separators=(",", ":"))
        return text
    except (TypeError, ValueError, RecursionError) as problem:
        raise TypeError(f"metadata must be what JSON can hold: {problem}") from None


def to_records(metadata: Iterable[Any] | None, count: int | None) -> list[str | None] | None:
    """A JSON text for each document, None where there is no record."""
    if metadata is None:
        return None
    if isinstance(metadata, (str, bytes, dict)):
        raise TypeError(f"metadata must be a list with a record for each document, not {type(metadata).__name__}")
    records = [None if one is None else to_json(one) for one in metadata]
    if count is not None and len(records) != count:
        raise ValueError(f"metadata has {len(records)} records for {count} documents")
    return records


class Records:
    """The records of one segment. The file is opened with it, so that a later compaction can't take it away."""

    def __init__(self, path: Path, crc: int, documents: int) -> None:
        self.path, self._crc, self._documents = path, crc, documents
        with naming_os_errors(path), open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise DamagedIndexError(f"{path} is empty")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._guard = threading.Lock()
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.DatabaseError as problem:
            raise self._failure(problem) from None
        weakref.finalize(self, self._connection.close)
        # Anything but the one table, a view that never ends for example, is not ours and is never asked.
        if self._ask("SELECT type, name, sql FROM sqlite_master") != [("table", "records", SCHEMA)]:
            raise DamagedIndexError(f"{path} is no file of records")

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return len(self._map)

    def get(self, positions: Sequence[int]) -> dict[int, Any]:
        """The records at some positions; documents without one are left out."""
        found: dict[int, Any] = {}
        try:
            for position in positions:
                for (text,) in self._ask("SELECT record FROM records WHERE position = ?", position):
                    found[position] = json.loads(text)
        except (ValueError, TypeError, RecursionError) as problem:
            raise self._unreadable(problem) from None
        return found

    def items(self) -> Iterator[tuple[int, str]]:
        """All positions and JSON texts, by position. Nothing is locked between two of them."""
        last = -1
        question = f"SELECT position, record FROM records WHERE position > ? ORDER BY position LIMIT {BATCH}"
        while rows := self._ask(question, last):
            for position, text in rows:
                if not (isinstance(position, int) and isinstance(text, str) and last < position < self._documents):
                    raise self._unreadable("a record of no document")
                yield position, text
                last = position

    def verify(self, advance: Callable[[int], None]) -> None:
        """Compares the file's checksum."""
        if _crc(self._map[start : start + (1 << 20)] for start in range(0, self.nbytes, 1 << 20)) != self._crc:
            raise DamagedIndexError(f"{self.path} does not have its checksum")
        advance(self.nbytes)

    def _ask(self, question: str, *values: int) -> list[Any]:
        try:
            with self._guard:
                return self._connection.execute(question, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # even SQLite's own words may be garbled
            raise self._failure(problem) from None

    def _failure(self, problem: Exception) -> Exception:
        """What SQLite's error comes to: a file that a writer has just removed is no damage."""
        if "unable to open" in str(problem) and not self.path.exists():
            return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(self.path))
        return self._unreadable(problem)

    def _unreadable(self, problem: object) -> DamagedIndexError:
        return DamagedIndexError(f"{self.path} can't be read: {problem}")


def _crc(pieces: Iterable[bytes]) -> int:
    crc = 0
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
    return crc

"""Metadata: one JSON record per document, in an SQLite file beside the segment. Written once, then read only."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from maxsieve.errors import DamagedIndexError


def write_records(path: Path, records: Iterable[tuple[int, str]]) -> int | None:
    """Writes ``(position, JSON text)`` pairs durably; returns the file's CRC-32. No pairs: no file, None."""
    iterator = iter(records)
    if (first := next(iterator, None)) is None:
        return None
    temporary = path.with_name(path.name + ".tmp")
    connection = sqlite3.connect(temporary, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO records VALUES (?, ?)", chain([first], iterator))
        connection.execute("COMMIT")
    finally:
        connection.close()
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return file_crc(path)


def to_json(record: Any) -> str:
    """The record as JSON, or a `TypeError` that says what JSON can't hold."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as problem:
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


def file_crc(path: Path) -> int:
    """CRC-32 of a whole file."""
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return crc


class Records:
    """The records of one segment. The file is opened with it, so that a later compaction can't take it away."""

    def __init__(self, path: Path, crc: int) -> None:
        self.path, self._crc = path, crc
        self._guard = threading.Lock()
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            weakref.finalize(self, self._connection.close)
            self._connection.execute("SELECT 1 FROM records LIMIT 1").fetchall()
        except sqlite3.DatabaseError as problem:
            if not path.exists():
                raise FileNotFoundError(errno.ENOENT, "No such file", str(path)) from None
            raise DamagedIndexError(f"{path} can't be read: {problem}") from None

    def get(self, positions: Sequence[int]) -> dict[int, Any]:
        """The records at some positions; documents without one are left out."""
        found: dict[int, Any] = {}
        try:
            with self._guard:
                for position in positions:
                    row = self._connection.execute(
                        "SELECT record FROM records WHERE position = ?", (position,)
                    ).fetchone()
                    if row is not None:
                        found[position] = json.loads(row[0])
        except (sqlite3.DatabaseError, ValueError, TypeError) as problem:
            raise DamagedIndexError(f"{self.path} can't be read: {problem}") from None
        return found

    def items(self) -> Iterator[tuple[int, str]]:
        """All positions and JSON texts, by position."""
        last = -1
        while rows := self._after(last):
            yield from rows
            last = rows[-1][0]

    def verify(self) -> None:
        """Compares the file's checksum."""
        if file_crc(self.path) != self._crc:
            raise DamagedIndexError(f"{self.path} does not have its checksum")

    def _after(self, position: int) -> list[tuple[int, str]]:
        command = "SELECT position, record FROM records WHERE position > ? ORDER BY position LIMIT 256"
        try:
            with self._guard:
                return self._connection.execute(command, (position,)).fetchall()
        except sqlite3.DatabaseError as problem:
            raise DamagedIndexError(f"{self.path} can't be read: {problem}") from None

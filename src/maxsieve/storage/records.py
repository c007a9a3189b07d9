"""Metadata: one JSON record per document, in an SQLite file beside the segment. Written once, then read only."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
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
        if not path.exists():
            raise FileNotFoundError(path)
        self._guard = threading.Lock()
        uri = f"{path.resolve().as_uri()}?immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            self._connection.execute("SELECT 1 FROM records LIMIT 1").fetchall()
        except sqlite3.DatabaseError as problem:
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
        try:
            with self._guard:
                yield from self._connection.execute("SELECT position, record FROM records ORDER BY position")
        except sqlite3.DatabaseError as problem:
            raise DamagedIndexError(f"{self.path} can't be read: {problem}") from None

    def verify(self) -> None:
        """Compares the file's checksum."""
        if file_crc(self.path) != self._crc:
            raise DamagedIndexError(f"{self.path} does not have its checksum")

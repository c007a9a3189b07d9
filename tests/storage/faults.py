"""A disk that fails: the system calls that write an index. A test makes one of them fail."""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import mmap
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from maxsieve.common import files
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.storage import codebook, disk, segments

WRITES = frozenset({"write", "fsync", "replace", "sqlite"})
CALLS = WRITES | {"open", "os.open", "unlink", "mmap", "mkdir", "flock"}
UNNAMED = frozenset({"write", "fsync", "mmap", "flock"})
"""Calls whose errors do not name the file."""

MESSAGES = {errno.ENOSPC: "database or disk is full", errno.EIO: "disk I/O error"}


def make_segments_small(patch: pytest.MonkeyPatch, dim: int) -> None:
    """A few documents fill several segments and train a codebook, so that every kind of write happens."""
    patch.setattr(codebook, "FEWEST", 8)
    patch.setattr(segments, "BLOCK_BYTES", 16 * 4 * dim)
    patch.setattr(disk, "SMALL_BYTES", 1 << 11)
    patch.setattr(disk, "LARGE_BYTES", 1 << 12)


class FailingDisk:
    """Counts calls while armed; the one with number ``nth`` fails, and all after it if the fault is ``lasting``."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: frozenset[str], code: int | None, lasting: bool) -> None:
        self._calls, self._code, self._lasting = calls, code, lasting
        self._armed = False
        self.failed: list[str] = []
        for name in ("fsync", "replace", "unlink", "mkdir"):
            self._wrap(patch, os, name, name)
        self._wrap(patch, os, "open", "os.open")
        self._wrap(patch, mmap, "mmap", "mmap")
        if LOCK_STAYS:
            self._wrap(patch, importlib.import_module("msvcrt"), "locking", "flock", unless=lambda call: not call[1])
        else:
            self._wrap(patch, importlib.import_module("fcntl"), "flock", "flock")
        connect = sqlite3.connect

        def failing_connect(database: Any, **options: Any) -> Any:
            writing = not options.get("uri")
            self.call("sqlite" if writing else "open", database)
            return connect(database, factory=self._connection(), **options) if writing else connect(database, **options)

        patch.setattr(sqlite3, "connect", failing_connect)
        patch.setattr(files, "open", self._open, raising=False)

    @contextmanager
    def failing(self, nth: int) -> Iterator[None]:
        self._nth, self._count, self._armed, self.failed = nth, 0, True, []
        try:
            yield
        finally:
            self._armed = False

    def call(self, name: str, path: Any = None) -> None:
        """Fails if its turn has come."""
        if not self._armed or name not in self._calls:
            return
        self._count += 1
        if self._count == self._nth or (self._lasting and self._count > self._nth):
            self.failed.append(name)
            if self._code is None:
                raise KeyboardInterrupt
            if name == "sqlite":
                raise sqlite3.OperationalError(MESSAGES[self._code])
            named = () if name in UNNAMED else (os.fspath(path),)
            raise OSError(self._code, os.strerror(self._code), *named)

    def _wrap(
        self,
        patch: pytest.MonkeyPatch,
        module: Any,
        attribute: str,
        name: str,
        unless: Callable[[tuple[Any, ...]], bool] = lambda _: False,
    ) -> None:
        original = getattr(module, attribute)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if not unless(arguments):  # releasing a lock does not fail
                self.call(name, arguments[0])
            return original(*arguments, **options)

        patch.setattr(module, attribute, wrapped)

    def _open(self, path: Any, mode: str, **options: Any) -> Any:
        self.call("open", path)
        if "x" not in mode:
            return builtins.open(path, mode, **options)
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                disk.call("write")
                return super().write(data)

        return io.BufferedWriter(Raw(path, "x"), 512)

    def _connection(self) -> type[sqlite3.Connection]:
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, *arguments: Any) -> sqlite3.Cursor:
                disk.call("sqlite")
                return super().execute(*arguments)

            def executemany(self, *arguments: Any) -> sqlite3.Cursor:
                disk.call("sqlite")
                return super().executemany(*arguments)

        return Connection

"""One writer at a time: a lock that the operating system lets go of when its process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maxsieve.errors import IndexLockedError

NAME = "lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, or raises `IndexLockedError` at once if somebody else does."""
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 64, 0).decode("ascii", "replace").strip() or "unknown"
            raise IndexLockedError(f"{folder} is being written to by another process (pid {holder})") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)

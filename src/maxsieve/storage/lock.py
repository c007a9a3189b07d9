"""One writer at a time: a lock that the operating system lets go of when its process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maxsieve.common.files import naming_os_errors, regular_handle
from maxsieve.errors import DamagedIndexError, IndexLockedError

NAME = "lock"
_held: set[int] = set()


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, or raises `IndexLockedError` at once if somebody else does."""
    handle = _open(folder)
    try:
        _held.add(handle)
        _take(folder, handle)
        yield
    finally:
        if handle in _held:
            _held.remove(handle)
            os.close(handle)


def _open(folder: Path) -> int:
    try:
        return regular_handle(folder / NAME, os.O_RDWR | os.O_CREAT)
    except ValueError as problem:
        raise DamagedIndexError(str(problem)) from None
    except OSError as problem:
        raise OSError(problem.errno, f"can't be written to: {problem.strerror}", os.fspath(folder)) from None


def _take(folder: Path, handle: int) -> None:
    try:
        with naming_os_errors(folder / NAME):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 64, 0).decode("ascii", "replace").strip() or "unknown"
        this = ", which is this one" if holder == str(os.getpid()) else ""
        raise IndexLockedError(f"{folder} is being written to by process {holder}{this}") from None
    names = os.fstat(handle).st_nlink
    if not names:
        raise IndexLockedError(f"{folder} is being removed by another process")
    if names > 1:  # the other name may be that of a user's file, or of a copy's lock: it stays as it is
        return
    with suppress(OSError):  # the number is only for the sentence above: a full disk must not matter here
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def _let_go() -> None:
    """In the child of a fork: it must not keep its parent's locks alive."""
    while _held:
        with suppress(OSError):
            os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)

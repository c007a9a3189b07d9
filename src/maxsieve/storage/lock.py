"""One writer at a time: a lock that the operating system releases when its process ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from maxsieve.common.files import naming_os_errors, opening_own_file, regular_handle
from maxsieve.common.handles import read_at, write_at
from maxsieve.common.locks import LOCK_STAYS, lock_now, unlock
from maxsieve.errors import IndexLockedError

NAME = "lock"
CheckLock: TypeAlias = Callable[[], None]
_discarded: set[Path] = set()


@contextmanager
def writer_lock(folder: Path) -> Iterator[CheckLock]:
    """Holds the folder's lock; raises `IndexLockedError` immediately if another process holds it.

    The folder may be moved away, and another one put in its place. So a writer calls the function that it gets here
    before it writes a file whose name is not unique: it raises `IndexLockedError` if the lock is not this folder's.
    """
    handle = _open(folder)
    try:
        _take(folder, handle)
        check = partial(_check_place, folder, handle)
        check()
        yield check
    finally:
        unlock(handle)
        if folder in _discarded:
            with suppress(OSError):
                (folder / NAME).unlink(missing_ok=True)
                _discarded.discard(folder)


@contextmanager
def new_folder(
    folder: Path, what: str, check_empty: Callable[[Path], None], undo: Callable[[Path], None]
) -> Iterator[None]:
    """Makes a folder, unless it is there and empty, and holds its lock. A failure leaves it as it was.

    ``undo`` removes what the block has written, and the lock.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; {what} needs a folder")
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    check_empty(folder)
    try:
        with writer_lock(folder):
            check_empty(folder)
            try:
                yield
            except BaseException:
                undo(folder)
                raise
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise


def discard_lock(folder: Path) -> None:
    """Removes the lock's file. The caller holds the lock. On Windows, it is removed after the lock is released.

    If another process takes the lock in between, it has the file open, and the file stays.
    """
    if LOCK_STAYS:
        _discarded.add(folder)
    else:
        with suppress(OSError):
            (folder / NAME).unlink()


def _check_place(folder: Path, handle: int) -> None:
    """Raises an error if the locked file is not the one in the folder."""
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), os.stat(folder / NAME, follow_symlinks=False)):
            return
    raise IndexLockedError(f"{folder} was replaced or removed while it was being written to; nothing was committed")


def _open(folder: Path) -> int:
    try:
        with opening_own_file(folder / NAME):
            return regular_handle(folder / NAME, os.O_RDWR | os.O_CREAT)
    except OSError as problem:
        raise OSError(problem.errno, f"can't be written to: {problem.strerror}", os.fspath(folder)) from None


def _take(folder: Path, handle: int) -> None:
    try:
        with naming_os_errors(folder / NAME):
            lock_now(handle)
    except BlockingIOError:
        holder = read_at(handle, 64, 0).decode("ascii", "replace").strip() or "unknown"
        this = ", which is this one" if holder == str(os.getpid()) else ""
        raise IndexLockedError(f"{folder} is being written to by process {holder}{this}") from None
    names = os.fstat(handle).st_nlink
    if not names:
        raise IndexLockedError(f"{folder} is being removed by another process")
    if names > 1:  # the other name may be that of a user's file, or of a copy's lock: it stays as it is
        return
    with suppress(OSError):  # the number is only for the sentence above: a full disk must not matter here
        os.ftruncate(handle, 0)
        write_at(handle, f"{os.getpid()}\n".encode(), 0)

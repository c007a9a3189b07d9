"""What each system lets one do with files that are open: how they are opened, read, made durable and replaced.

POSIX removes a name at once, and keeps the file for all processes that have it open. Windows refuses to replace or
remove a file that is open or mapped anywhere. So files that are mapped are never replaced (no name is used twice),
those that can't be removed yet are left for the next writer, and what is open for a moment only is waited for.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

if sys.platform == "darwin":
    import fcntl

T = TypeVar("T")
PAUSES = tuple(0.001 * 2**i for i in range(10))
"""Seconds, one in all, after which Windows is asked again: others read or scan a small file in less."""

if sys.platform == "win32":
    OPENING = os.O_BINARY | os.O_NOINHERIT
    NOT_THROUGH_LINKS = 0
    _seeking = threading.Lock()

    def patiently(action: Callable[[], T]) -> T:
        """What the action returns; where Windows refuses since somebody has the file open, it is tried again."""
        for pause in PAUSES:
            with suppress(PermissionError):
                return action()
            time.sleep(pause)
        return action()

    def read_at(handle: int, size: int, offset: int) -> bytes:
        """At most so many bytes of a file from an offset on; any thread."""
        with _seeking:
            os.lseek(handle, offset, os.SEEK_SET)
            return os.read(handle, size)

    def write_at(handle: int, data: bytes, offset: int) -> None:
        """Writes at an offset; any thread."""
        with _seeking:
            os.lseek(handle, offset, os.SEEK_SET)
            os.write(handle, data)

    def sync_folder_handle(folder: Path) -> None:
        """Nothing: a folder can't be opened there, and the file system keeps a journal of its names."""

    def replace_file(source: Path, target: Path) -> None:
        """Gives a file the name of another, which it replaces; `PermissionError` if that stays open or mapped."""
        try:
            patiently(lambda: os.replace(source, target))
        except PermissionError as refused:
            why = f"{refused.strerror}. Windows replaces no file that is open or mapped, by this program or another"
            raise PermissionError(refused.errno, why, os.fspath(target)) from None

    def replace_folder(source: Path, target: Path) -> None:
        """Gives a folder the name of another, which must not exist or be empty."""
        with suppress(FileNotFoundError):
            os.rmdir(target)
        patiently(lambda: os.rename(source, target))

    def advise(mapped: mmap.mmap, start: int, size: int, *, scattered: bool) -> None:
        """Nothing: Windows takes no advice on how a map will be read."""

else:
    OPENING = os.O_CLOEXEC | os.O_NONBLOCK
    NOT_THROUGH_LINKS = os.O_NOFOLLOW

    def patiently(action: Callable[[], T]) -> T:
        """What the action returns: here nobody is in the way of another."""
        return action()

    def read_at(handle: int, size: int, offset: int) -> bytes:
        """At most so many bytes of a file from an offset on; any thread."""
        return os.pread(handle, size, offset)

    def write_at(handle: int, data: bytes, offset: int) -> None:
        """Writes at an offset; any thread."""
        os.pwrite(handle, data, offset)

    def sync_folder_handle(folder: Path) -> None:
        """Makes renames and new names in a folder durable."""
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            sync_file(handle)
        finally:
            os.close(handle)

    def replace_file(source: Path, target: Path) -> None:
        """Gives a file the name of another, which it replaces, even if some process has that open."""
        os.replace(source, target)

    def replace_folder(source: Path, target: Path) -> None:
        """Gives a folder the name of another, which must not exist or be empty."""
        os.replace(source, target)

    def advise(mapped: mmap.mmap, start: int, size: int, *, scattered: bool) -> None:
        """Says how bytes of a map will be read: here and there, or in order."""
        mapped.madvise(mmap.MADV_RANDOM if scattered else mmap.MADV_NORMAL, start, size)


if sys.platform == "darwin":

    def sync_file(handle: int) -> None:
        """Returns when the disk has what was written: `fsync` leaves it in the drive's own memory there."""
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError:  # a file system that can't, that of another machine for example
            os.fsync(handle)

else:

    def sync_file(handle: int) -> None:
        """Returns when the disk has what was written."""
        os.fsync(handle)

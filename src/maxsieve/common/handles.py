"""How files are opened, read, made durable and replaced on each operating system.

POSIX removes a name immediately, and keeps the file for all processes that have it open. Windows refuses to replace or
remove a file that is open or mapped in any process. So mapped files are never replaced (no name is used twice). Files
that can't be removed yet are left for the next writer. If a file is open only for a moment, the operation is retried.
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
"""Seconds before each retry on Windows, one second in total: reading or scanning a small file takes less."""

if sys.platform == "win32":
    OPENING = os.O_BINARY | os.O_NOINHERIT
    NOT_THROUGH_LINKS = 0
    _seeking = threading.Lock()

    def with_retries(action: Callable[[], T]) -> T:
        """Runs the action; if Windows refuses it because the file is open in another process, it is retried."""
        for pause in PAUSES:
            with suppress(PermissionError):
                return action()
            time.sleep(pause)
        return action()

    def read_at(handle: int, size: int, offset: int) -> bytes:
        """Reads at most ``size`` bytes from an offset on; safe in any thread."""
        with _seeking:
            os.lseek(handle, offset, os.SEEK_SET)
            return os.read(handle, size)

    def write_at(handle: int, data: bytes, offset: int) -> None:
        """Writes at an offset; safe in any thread."""
        with _seeking:
            os.lseek(handle, offset, os.SEEK_SET)
            os.write(handle, data)

    def sync_folder_handle(folder: Path) -> None:
        """Does nothing: Windows can't open a folder, and its file system has a journal of names."""

    def replace_file(source: Path, target: Path) -> None:
        """Renames a file to the name of another, which it replaces; `PermissionError` if that stays open or mapped."""
        try:
            with_retries(lambda: os.replace(source, target))
        except PermissionError as refused:
            why = f"{refused.strerror}. Windows can't replace a file that is open or mapped, in this program or another"
            raise PermissionError(refused.errno, why, os.fspath(target)) from None

    def replace_folder(source: Path, target: Path) -> None:
        """Renames a folder; the new name must not exist, or be an empty folder."""
        with suppress(FileNotFoundError):
            os.rmdir(target)
        with_retries(lambda: os.rename(source, target))

    def advise(mapped: mmap.mmap, start: int, size: int, *, scattered: bool) -> None:
        """Does nothing: Windows has no advice on how a map will be read."""

    def fetch(mapped: mmap.mmap, start: int, size: int) -> None:
        """Does nothing: Windows reads what is touched."""

else:
    OPENING = os.O_CLOEXEC | os.O_NONBLOCK
    NOT_THROUGH_LINKS = os.O_NOFOLLOW

    def with_retries(action: Callable[[], T]) -> T:
        """Runs the action: on this system no retry is needed."""
        return action()

    def read_at(handle: int, size: int, offset: int) -> bytes:
        """Reads at most ``size`` bytes from an offset on; safe in any thread."""
        return os.pread(handle, size, offset)

    def write_at(handle: int, data: bytes, offset: int) -> None:
        """Writes at an offset; safe in any thread."""
        os.pwrite(handle, data, offset)

    def sync_folder_handle(folder: Path) -> None:
        """Makes renames and new names in a folder durable."""
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            sync_file(handle)
        finally:
            os.close(handle)

    def replace_file(source: Path, target: Path) -> None:
        """Renames a file to the name of another, which it replaces, even if a process has that open."""
        os.replace(source, target)

    def replace_folder(source: Path, target: Path) -> None:
        """Renames a folder; the new name must not exist, or be an empty folder."""
        os.replace(source, target)

    def advise(mapped: mmap.mmap, start: int, size: int, *, scattered: bool) -> None:
        """Tells the system how bytes of a map will be read: at random places, or in order."""
        mapped.madvise(mmap.MADV_RANDOM if scattered else mmap.MADV_NORMAL, start, size)

    def fetch(mapped: mmap.mmap, start: int, size: int) -> None:
        """Asks the system to read these bytes of a map soon, and no others."""
        mapped.madvise(mmap.MADV_WILLNEED, start, size)


if sys.platform == "darwin":

    def sync_file(handle: int) -> None:
        """Returns when the data are on disk. On macOS, `fsync` alone may leave them in the memory of the drive."""
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError:  # some file systems can't, such as network drives
            os.fsync(handle)

else:

    def sync_file(handle: int) -> None:
        """Returns when the data are on disk."""
        os.fsync(handle)

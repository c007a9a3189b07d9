"""Locks on open files. The operating system releases a lock when its process ends, even by a crash.

A lock belongs to the handle: it excludes other handles of the same file, even in the same process.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import suppress

if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 1 << 30
    """Beyond the end of the file, because Windows lets nobody else read locked bytes."""

    INTERVAL = 0.05
    """Seconds between two attempts. (Ctrl-C could not interrupt a call of Windows that waits.)"""

    LOCK_STAYS = True

    def lock_now(handle: int) -> None:
        """Locks the file, or raises `BlockingIOError` if another handle has it locked."""
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None

    def wait_for_lock(handle: int) -> None:
        """Waits until no other handle has the file locked, and locks it."""
        while True:
            with suppress(BlockingIOError):
                return lock_now(handle)
            time.sleep(INTERVAL)

    def unlock(handle: int) -> None:
        """Releases the lock, if the handle has it, and closes the handle. Closing alone would release it later."""
        try:
            with suppress(OSError):
                os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        finally:
            os.close(handle)

else:
    import fcntl

    _held: set[int] = set()
    LOCK_STAYS = False
    """Whether a locked file, and its folder, can't be removed."""

    def lock_now(handle: int) -> None:
        """Locks the file, or raises `BlockingIOError` if another handle has it locked."""
        _held.add(handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def wait_for_lock(handle: int) -> None:
        """Waits until no other handle has the file locked, and locks it."""
        _held.add(handle)
        fcntl.flock(handle, fcntl.LOCK_EX)

    def unlock(handle: int) -> None:
        """Releases the lock of `lock_now` or `wait_for_lock`, and closes the handle.

        A process that was just forked may still have a copy of the handle, which would keep the lock. So the lock is
        released explicitly, before the handle is closed.
        """
        if handle in _held:
            _held.remove(handle)
            try:
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_UN)
            finally:
                os.close(handle)

    def _drop_locks() -> None:
        """Closes the parent's locks in a forked child, which must not keep them."""
        while _held:
            with suppress(OSError):
                os.close(_held.pop())

    os.register_at_fork(after_in_child=_drop_locks)

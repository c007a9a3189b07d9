"""Locks on open files, which the operating system releases when their process ends, however it ends.

A lock belongs to the handle: another handle of the same file meets it, in the same process as well.
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
    """Beyond all that such a file holds: Windows lets nobody else read what is locked."""

    INTERVAL = 0.05
    """Seconds between two attempts: waiting inside Windows could not be interrupted by Ctrl-C."""

    LOCK_STAYS = True

    def lock_now(handle: int) -> None:
        """Locks the file, or raises `BlockingIOError` if another handle has it locked."""
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None

    def lock_patiently(handle: int) -> None:
        """Locks the file as soon as nobody else has it locked."""
        while True:
            with suppress(BlockingIOError):
                return lock_now(handle)
            time.sleep(INTERVAL)

    def unlock(handle: int) -> None:
        """Closes the handle and with it the lock, if it has it. Windows would unlock it too, but some time later."""
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
    """Whether a file can't be removed, nor its folder, while it is locked."""

    def lock_now(handle: int) -> None:
        """Locks the file, or raises `BlockingIOError` if another handle has it locked."""
        _held.add(handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def lock_patiently(handle: int) -> None:
        """Locks the file as soon as nobody else has it locked."""
        _held.add(handle)
        fcntl.flock(handle, fcntl.LOCK_EX)

    def unlock(handle: int) -> None:
        """Closes the handle of `lock_now` or `lock_patiently`, and with it the lock.

        A process that was forked a moment ago may still have a copy of the handle, which would keep the lock: so it is
        unlocked first.
        """
        if handle in _held:
            _held.remove(handle)
            try:
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_UN)
            finally:
                os.close(handle)

    def _let_go() -> None:
        """In the child of a fork: it must not keep its parent's locks alive."""
        while _held:
            with suppress(OSError):
                os.close(_held.pop())

    os.register_at_fork(after_in_child=_let_go)

"""The user's cache folder, and folders in it that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from maxsieve.common.files import regular_handle
from maxsieve.common.optional import optional

LOCK, PART = ".lock", ".part"
"""What `once` puts beside a folder: its lock, which stays, and the folder that is being made."""


def cache_folder() -> Path:
    """Where models and vectors are kept: `MAXSIEVE_CACHE`, else where the system keeps a user's caches.

    On Linux that is `maxsieve` in `XDG_CACHE_HOME` or ``~/.cache``.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, MAXSIEVE_CACHE="somewhere"):
    ...     cache_folder().name
    'somewhere'
    """
    if chosen := os.environ.get("MAXSIEVE_CACHE"):
        return Path(chosen)
    return Path(optional("platformdirs", "text").user_cache_dir("maxsieve", appauthor=False))


def once(folder: Path, make: Callable[[Path], None], *, is_whole: Callable[[Path], bool] = Path.is_dir) -> None:
    """Has `folder` made by ``make(an empty folder)``, unless it is whole, by one process at a time.

    A process that dies leaves the empty folder and what it put there, under another name; the next one removes it.
    """
    if is_whole(folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(regular_handle(folder.with_name(folder.name + LOCK), os.O_RDWR | os.O_CREAT), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_whole(folder):
            return
        scratch = folder.with_name(folder.name + PART)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        try:
            make(scratch)
            if folder.exists():
                shutil.rmtree(folder)
            os.rename(scratch, folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

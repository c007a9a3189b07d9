"""The user's cache folder, and folders in it that are created atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from maxsieve.common.files import regular_handle
from maxsieve.common.handles import replace_folder
from maxsieve.common.locks import unlock, wait_for_lock
from maxsieve.common.optional import optional

LOCK, PART = ".lock", ".part"
"""Suffixes of what `once` puts beside a folder: its lock, which stays, and the temporary folder."""


def cache_folder() -> Path:
    """The cache folder for models and vectors: `MAXSIEVE_CACHE`, or else the system's place for user caches.

    On Linux that is `maxsieve` in `XDG_CACHE_HOME` or ``~/.cache``.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, MAXSIEVE_CACHE="somewhere"):
    ...     cache_folder().name
    'somewhere'
    """
    if chosen := os.environ.get("MAXSIEVE_CACHE"):
        return Path(chosen)
    return Path(optional("platformdirs", "text").user_cache_dir("maxsieve", appauthor=False))


def once(
    folder: Path,
    make: Callable[[Path], None],
    *,
    is_whole: Callable[[Path], bool] = Path.is_dir,
    resume: bool = False,
) -> None:
    """Creates `folder` by ``make(an empty folder)``, unless it is complete. One process at a time does this.

    A process that dies leaves its unfinished folder under a temporary name; the next one removes it, or gets it as it
    is with `resume`.
    """
    if is_whole(folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = regular_handle(folder.with_name(folder.name + LOCK), os.O_RDWR | os.O_CREAT)
    try:
        wait_for_lock(lock)
        if is_whole(folder):
            return
        scratch = folder.with_name(folder.name + PART)
        if not resume:
            shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(exist_ok=resume)
        try:
            make(scratch)
            if folder.exists():
                shutil.rmtree(folder)
            replace_folder(scratch, folder)
        finally:
            if not resume:
                shutil.rmtree(scratch, ignore_errors=True)
    finally:
        unlock(lock)

"""Files that last, and errors that name them: a full disk does not say by itself what was being written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the path to an `OSError` of the system that has none."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or problem.filename is not None:
            raise
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable."""
    with naming(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

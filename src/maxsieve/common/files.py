"""Files that last, and errors that name them: a full disk does not say by itself what was being written."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]


@contextmanager
def naming_os_errors(path: PathLike) -> Iterator[None]:
    """Adds the path to an `OSError` of the system that has none."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or problem.filename is not None:
            raise
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable."""
    with naming_os_errors(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` once it is complete and on disk, and leaves no trace after an error."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; a file is to be written")
    temporary = _beside(path, target)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


@contextmanager
def replacing_folder(path: PathLike) -> Iterator[Path]:
    """A folder that takes the place of ``path``, which must not exist or be empty, once its files are complete."""
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(f"{os.fspath(path)} exists already; a folder is written only where there is none")
    temporary = _beside(path, target)
    temporary.mkdir()
    try:
        yield temporary
        sync_folder(temporary)
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _beside(path: PathLike, target: Path) -> Path:
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)} can't be written: there is no folder {target.parent}")
    return target.parent / f".maxsieve-{secrets.token_hex(8)}.tmp"

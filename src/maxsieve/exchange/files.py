"""Files as all formats need them: mapped for reading, replaced at once when written, named in errors."""

from __future__ import annotations

import importlib
import mmap
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

PathLike: TypeAlias = str | os.PathLike[str]
Mapped: TypeAlias = mmap.mmap | bytes


@contextmanager
def naming(path: PathLike, *also: type[Exception]) -> Iterator[None]:
    """Errors about the contents of a file say which file it is; errors of ``also`` become `ValueError`.

    >>> with naming("a.npy"):
    ...     raise ValueError("lengths[0] is negative")
    Traceback (most recent call last):
    ValueError: a.npy: lengths[0] is negative
    """
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError, *also)
    try:
        yield
    except FileNotFoundError:
        raise
    except kinds as problem:
        text = str(problem) or type(problem).__name__
        kind = TypeError if isinstance(problem, TypeError) else ValueError
        raise kind(text if text.startswith(os.fspath(path)) else f"{os.fspath(path)}: {text}") from problem


def map_file(path: PathLike) -> Mapped:
    """A file's bytes, mapped for reading: nothing is read until it is looked at."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def array_at(
    data: Mapped, dtype: np.dtype[Any], shape: tuple[int, ...], start: int, end: int, *, fortran: bool = False
) -> NDArray[Any]:
    """The array that fills the bytes from start to end, without copying; an error if it does not fit there.

    >>> array_at(b"head" + np.arange(6, dtype="<i2").tobytes(), np.dtype("<i2"), (2, 3), 4, 16).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    count = 1
    for size in shape:
        if size < 0:
            raise ValueError(f"the shape {shape} is negative")
        count *= size
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"the file is truncated: it has {len(data)} bytes, {end} are expected")
    if count * dtype.itemsize != end - start:
        raise ValueError(f"{dtype} of shape {shape} takes {count * dtype.itemsize} bytes; there are {end - start}")
    flat = np.frombuffer(data, dtype, count, start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


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


def sync_folder(folder: Path) -> None:
    """Makes names in a folder last, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def optional(module: str, extra: str) -> Any:
    """A module that is not always installed.

    >>> optional("no_such_module", "arrow")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'maxsieve[arrow]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        missing = module.partition(".")[0]
        if problem.name != missing:
            raise
        raise ModuleNotFoundError(f"this needs {missing}: pip install 'maxsieve[{extra}]'", name=missing) from None

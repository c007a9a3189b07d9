"""Opens regular files only, replaces files atomically and durably, and names the file in errors.

A folder may come from an untrusted source. A name in it may be a link to any other file, a pipe that never ends, or a
device: `open_regular` and `read_small` open only regular files. After a crash or on a full disk, `replacing` and
similar functions leave either the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from maxsieve.common.handles import (
    NOT_THROUGH_LINKS,
    OPENING,
    replace_file,
    replace_folder,
    sync_file,
    sync_folder_handle,
    with_retries,
)
from maxsieve.errors import DamagedIndexError

PathLike: TypeAlias = str | os.PathLike[str]
OPENINGS = 5
"""How often a file is opened again, if a writer replaces it before the check that its name still refers to it."""
JUNCTION = 0xA0000003
"""The tag of a junction: `stat.IO_REPARSE_TAG_MOUNT_POINT`, which exists only on Windows."""


@contextmanager
def naming_os_errors(path: PathLike) -> Iterator[None]:
    """Adds the path to an `OSError` of the system that has none."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or problem.filename is not None:
            raise
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem


def open_regular(path: PathLike, *, follow_links: bool = False) -> BinaryIO:
    """A file opened for reading; `ValueError` for a pipe, a device, a socket and, unless they are followed, a link.

    It never waits, as opening a pipe would. Follow links where a user named the file; never inside a folder of ours.

    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    ValueError: /dev/null is a device; a regular file is expected
    """
    return open(path, "rb", opener=lambda name, _: regular_handle(name, os.O_RDONLY, follow_links=follow_links))


def regular_handle(path: PathLike, flags: int, *, follow_links: bool = False) -> int:
    """The same as a file descriptor, with the flags of `os.open`; with ``O_CREAT`` the file need not exist."""
    for _ in range(OPENINGS):
        handle = _regular_handle(path, flags, follow_links=follow_links)
        if follow_links or NOT_THROUGH_LINKS:
            return handle
        try:  # the system has followed a link
            _check_regular(named := os.stat(path, follow_symlinks=False), path)
            if os.path.samestat(named, os.fstat(handle)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise ValueError(f"{os.fspath(path)} became another file each time it was opened")


def _regular_handle(path: PathLike, flags: int, *, follow_links: bool) -> int:
    """Opens a regular file. On systems that can't refuse to follow links, the caller checks for them."""
    with suppress(FileNotFoundError):  # opening it raises the same, unless the file may be created
        _check_regular(os.stat(path, follow_symlinks=follow_links), path)
    flags |= OPENING | (0 if follow_links else NOT_THROUGH_LINKS)
    try:
        handle = with_retries(lambda: os.open(path, flags, 0o666))
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EMLINK) and os.path.islink(path):
            raise ValueError(f"{os.fspath(path)} is a link; a regular file is expected") from None
        raise
    try:
        _check_regular(os.fstat(handle), path)  # the name may refer to another file by now
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_small(path: PathLike, *, at_most: int, follow_links: bool = False) -> bytes:
    """The bytes of a regular file; `ValueError` if there are more than ``at_most``, of which no more are read."""
    with open_regular(path, follow_links=follow_links) as file, naming_os_errors(path):
        content = bytearray()  # in pieces, because `read` allocates memory for its whole limit
        while piece := file.read(min(1 << 16, at_most + 1 - len(content))):
            content += piece
    if len(content) > at_most:
        raise ValueError(f"{os.fspath(path)} is larger than {at_most} bytes, the most that are read")
    return bytes(content)


@contextmanager
def opening_own_file(path: Path) -> Iterator[None]:
    """Inside, a file of an index or a collection is opened: if it is not a regular file, that is damage.

    >>> with opening_own_file(Path("/")):
    ...     open_regular("/")
    Traceback (most recent call last):
    maxsieve.errors.DamagedIndexError: / is a folder; a regular file is expected
    """
    try:
        yield
    except IsADirectoryError:
        raise DamagedIndexError(f"{path} is a folder; a regular file is expected") from None
    except ValueError as problem:
        raise DamagedIndexError(str(problem)) from None


@contextmanager
def opening_folder(folder: Path, what: str, name: str) -> Iterator[None]:
    """Says what a folder is not, if the file ``name`` that marks it is missing."""
    try:
        yield
    except FileNotFoundError:
        missing = f"is not {what}: it has no {name}" if folder.exists() else "does not exist"
        raise FileNotFoundError(f"{folder} {missing}") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"{folder} is not a folder; {what} is a folder") from None


def check_own_folder(path: Path) -> Path:
    """A folder in an index or a collection, which may be missing; a link to one, or anything else, is damage.

    >>> check_own_folder(Path("/dev/null"))
    Traceback (most recent call last):
    maxsieve.errors.DamagedIndexError: /dev/null is a device; a folder is expected
    """
    with suppress(FileNotFoundError):
        status = os.stat(path, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or _is_junction(status):
            raise DamagedIndexError(f"{path} is {_kind(status)}; a folder is expected")
    return path


def check_own_file(path: Path) -> None:
    """The same for a file."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG((status := os.stat(path, follow_symlinks=False)).st_mode):
            raise DamagedIndexError(f"{path} is {_kind(status)}; a regular file is expected")


def _check_regular(status: os.stat_result, path: PathLike) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise ValueError(f"{os.fspath(path)} is {_kind(status)}; a regular file is expected")


def _is_junction(status: os.stat_result) -> bool:
    """Whether it is a junction of Windows: a link to a folder, which Python treats as a folder."""
    return getattr(status, "st_reparse_tag", 0) == JUNCTION


def _kind(status: os.stat_result) -> str:
    if _is_junction(status):
        return "a link"
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "a device")


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable."""
    with naming_os_errors(folder):
        sync_folder_handle(folder)


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` once it is complete and on disk, and leaves no trace after an error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/it") as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "it").read_bytes()
    b'whole'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; a file is to be written")
    with replacing_as(_beside(path, target), target) as file:
        yield file
    sync_folder(target.parent)


@contextmanager
def replacing_as(temporary: Path, target: Path) -> Iterator[BinaryIO]:
    """The same under a temporary name of the caller's choice; a link at either name is replaced, not followed.

    The folder is not synced: a caller that writes several files does that once.
    """
    temporary.unlink(missing_ok=True)
    try:
        with naming_os_errors(temporary):
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                sync_file(file.fileno())
            replace_file(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


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
        replace_folder(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _beside(path: PathLike, target: Path) -> Path:
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)} can't be written: there is no folder {target.parent}")
    return target.parent / f".maxsieve-{secrets.token_hex(8)}.tmp"

"""The entries of the user's cache folder, and how to remove them.

`MAXSIEVE_CACHE` may name any folder, even a home folder by mistake. So the name of a folder is not enough to treat it
as ours: a folder made by `once` has its lock beside it, a collection has its `collection.json`. Everything else is left
alone, and so are links.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from maxsieve.common.cache import LOCK, PART, cache_folder
from maxsieve.common.files import regular_handle
from maxsieve.common.locks import LOCK_STAYS, lock_now, unlock

HISTORY = "history"
KINDS = ("models", "collections", "folders", "demo", "vectors", "truth", "million", HISTORY)
"""The names of folders in the cache, and of a file. Others are not ours."""

MARKS = ("collection.json", "made" + LOCK)
"""A folder with such a file is ours: a collection, or a folder in which `once` made something."""

WRITER_LOCKS = ("lock", "index/lock", "made" + LOCK)
"""Locks that a process holds while it creates or changes an entry."""


class InUseError(Exception):
    """An entry can't be removed because a running process uses it."""


@dataclass(frozen=True)
class CacheEntry:
    """An entry of the cache: its kind, name, size, and the time of its last change."""

    kind: str
    name: str
    path: Path
    nbytes: int
    changed: float
    """Seconds since 1970."""

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return self.kind if self.kind == HISTORY else f"{self.kind}/{self.name}"


def cache_entries(folder: Path | None = None) -> list[CacheEntry]:
    """All our entries in the cache folder, by kind and name; empty if there is no such folder."""
    root = cache_folder() if folder is None else folder
    found: list[CacheEntry] = []
    for kind in KINDS:
        if kind == HISTORY:
            found += [_measured(kind, root / kind)] if _is_file(root / kind) else []
        elif _is_folder(root / kind):
            with suppress(OSError):
                some = sorted(child for child in (root / kind).iterdir() if _is_ours(child))
                found += [_measured(kind, child) for child in some]
    return found


def remove(entry: CacheEntry) -> None:
    """Removes an entry; `InUseError` if a running process holds a lock of it, `OSError` if it can't be removed."""
    with _locked(entry):
        if entry.kind == HISTORY:
            entry.path.unlink(missing_ok=True)
        elif _is_folder(entry.path) and not LOCK_STAYS:
            shutil.rmtree(entry.path)
    if _is_folder(entry.path) and LOCK_STAYS:
        _remove_unlocked(entry.path)


def _remove_unlocked(path: Path) -> None:
    """Removes a folder on Windows, where a lock can't be removed while it is held.

    There a folder can't be renamed while any file in it is open: what a writer has locked or a reader has mapped stays
    whole.
    """
    doomed = path if path.name.endswith(PART) else path.with_name(path.name + PART)
    if doomed != path:
        shutil.rmtree(doomed, ignore_errors=True)
        try:
            os.rename(path, doomed)
        except PermissionError:
            raise InUseError(f"{path} is in use by another process") from None
    shutil.rmtree(doomed)


def _is_ours(path: Path) -> bool:
    """Whether it is a folder that `once` has made or is making, or a collection."""
    if not _is_folder(path):
        return False
    made = path.name.removesuffix(PART)
    return _is_file(path.with_name(made + LOCK)) or any(_is_file(path / mark) for mark in MARKS)


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _measured(kind: str, path: Path) -> CacheEntry:
    """Its size on disk and its last change; links inside it are not followed."""
    size, changed = 0, 0.0
    for each in (path, *_inside(path)):
        with suppress(OSError):
            status = each.lstat()
            size += 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            changed = max(changed, status.st_mtime)
    return CacheEntry(kind, path.name, path, size, changed)


def _inside(path: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield Path(parent, name)


@contextmanager
def _locked(entry: CacheEntry) -> Iterator[None]:
    """Holds all locks that creators and writers of the entry take, so that none of them is running meanwhile.

    The lock file beside the entry is not removed: another process may be waiting for it.
    """
    beside = entry.path.with_name(entry.path.name.removesuffix(PART) + LOCK)
    with ExitStack() as held:
        for path in (beside, *(entry.path / name for name in WRITER_LOCKS)):
            if not _is_file(path):
                continue
            try:
                handle = regular_handle(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            held.callback(unlock, handle)
            try:
                lock_now(handle)
            except BlockingIOError:
                raise InUseError(f"{entry.path} is in use by another process") from None
        yield

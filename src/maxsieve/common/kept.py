"""What is kept in the user's cache folder, and how it is cleared.

The folder may be any that `MAXSIEVE_CACHE` names, a home folder by mistake. So nothing is taken for ours by the name of
its parent alone: what `once` makes has its lock beside it, a collection has its `collection.json`. Everything else is
left alone, and so are links, whatever they point to.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from maxsieve.common.cache import LOCK, PART, cache_folder
from maxsieve.common.files import regular_handle

KINDS = {
    "models": "built-in models; maxsieve model fetch brings them again",
    "collections": "corpora of the lab with their vectors; encoding them again takes minutes each",
    "demo": "the collection of maxsieve demo",
    "vectors": "token vectors of benchmarks and tests",
    "truth": "exact answers of benchmarks",
    "million": "the benchmark of a million documents",
    "history": "lines of earlier conversations with maxsieve search",
}
"""Each kind by the name of its folder, or its file."""

HISTORY = "history"
MARKS = ("collection.json", "made" + LOCK)
"""A folder with such a file is ours: a collection, or one that has what `once` made inside."""

WRITER_LOCKS = ("lock", "index/lock", "made" + LOCK)
"""Who makes it or writes to it holds these."""


class InUseError(Exception):
    """A running process holds what was to be removed."""


@dataclass(frozen=True)
class Kept:
    """One thing in the cache: its kind, its name there, its size, and when something in it last changed."""

    kind: str
    name: str
    path: Path
    nbytes: int
    changed: float
    """Seconds since 1970."""

    @property
    def key(self) -> str:
        """What it is called on the command line."""
        return self.kind if self.kind == HISTORY else f"{self.kind}/{self.name}"


def kept(folder: Path | None = None) -> list[Kept]:
    """Everything of ours in the cache folder, kind by kind, by name; nothing if there is no such folder."""
    root = cache_folder() if folder is None else folder
    found: list[Kept] = []
    for kind in KINDS:
        if kind == HISTORY:
            found += [_measured(kind, root / kind)] if _is_file(root / kind) else []
        elif _is_folder(root / kind):
            with suppress(OSError):
                some = sorted(child for child in (root / kind).iterdir() if _is_ours(child))
                found += [_measured(kind, child) for child in some]
    return found


def remove(one: Kept) -> None:
    """Removes it; `InUseError` if a running process holds a lock of it, `OSError` if it can't be removed."""
    with _locked(one):
        if one.kind == HISTORY:
            one.path.unlink(missing_ok=True)
        elif _is_folder(one.path):
            shutil.rmtree(one.path)


def _is_ours(path: Path) -> bool:
    """A folder that `once` has made or is making, or that holds a collection."""
    if not _is_folder(path):
        return False
    made = path.name.removesuffix(PART)
    return _is_file(path.with_name(made + LOCK)) or any(_is_file(path / mark) for mark in MARKS)


def _is_folder(path: Path) -> bool:
    """A real one, no link to one."""
    return path.is_dir() and not path.is_symlink()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _measured(kind: str, path: Path) -> Kept:
    """Its size on disk and its last change; links inside count for themselves."""
    size, changed = 0, 0.0
    for each in (path, *_inside(path)):
        with suppress(OSError):
            status = each.lstat()
            size += 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            changed = max(changed, status.st_mtime)
    return Kept(kind, path.name, path, size, changed)


def _inside(path: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield Path(parent, name)


@contextmanager
def _locked(one: Kept) -> Iterator[None]:
    """Holds every lock that makers and writers of it take, so that none of them is at work meanwhile.

    The lock beside it stays: another process may be waiting for it.
    """
    beside = one.path.with_name(one.path.name.removesuffix(PART) + LOCK)
    with ExitStack() as held:
        for path in (beside, *(one.path / name for name in WRITER_LOCKS)):
            if not _is_file(path):
                continue
            try:
                handle = regular_handle(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUseError(f"{one.path} is in use by another process") from None
        yield

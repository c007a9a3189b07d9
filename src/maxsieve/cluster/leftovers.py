"""Finds and removes files in the folder of a corpus that no version needs.

Only regular files with names that maxsieve gives are removed.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from maxsieve.cluster.manifest import NAME, SHARD_MANIFEST, ClusterManifest
from maxsieve.cluster.shard import SHARDS, files_of
from maxsieve.common.files import check_own_folder
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.lock import discard_lock
from maxsieve.storage.manifest import kind_of

GRACE_SECONDS = 3600
"""An unknown file is removed only if it is older than this, because another process may still be writing it."""


def files_needed(root: Path, versions: Iterable[ClusterManifest]) -> set[Path]:
    """All files that some versions of a corpus need."""
    needed: set[Path] = set()
    for manifest in versions:
        needed |= {root / one.name for one in manifest.calibrations}
        for version in manifest.shards:
            needed |= files_of(root, version)
    return needed


def remove_unneeded(root: Path, needed: Collection[Path], retired: Collection[Path]) -> None:
    """Removes our files that are not needed: at once if ``retired`` (an earlier version had them), else if old."""
    old = (root / NAME).stat().st_mtime - GRACE_SECONDS
    for folder in (root, *_shard_folders(root)):
        for path in folder.iterdir():
            if is_ours(path.name) and path not in needed:
                remove_file(path, before=None if path in retired else old)


def remove_empty_folders(root: Path, used: Collection[str]) -> None:
    """Removes empty folders of shards that no longer exist."""
    for folder in _shard_folders(root):
        if folder.name not in used:
            with suppress(OSError):
                folder.rmdir()


def _shard_folders(root: Path) -> list[Path]:
    return [path for path in (root / SHARDS).iterdir() if path.is_dir() and not path.is_symlink()]


def is_ours(name: str) -> bool:
    """Whether a file name is one that maxsieve gives.

    >>> is_ours("00000003.segment"), is_ours("cluster.json.tmp"), is_ours("cluster.json"), is_ours("notes.txt")
    (True, True, False, False)
    """
    bare = name.removesuffix(".tmp")
    return kind_of(bare) is not None or SHARD_MANIFEST.fullmatch(bare) is not None or name == NAME + ".tmp"


def remove_file(path: Path, *, before: float | None) -> None:
    """Removes a regular file; with ``before``, only if it was last written before this time."""
    with suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and (before is None or status.st_mtime < before):
            path.unlink()


def check_empty(root: Path) -> None:
    """Raises an error if a folder has other files than those that a killed `create` leaves behind."""
    for entry in root.iterdir():
        if entry.name == SHARDS:
            inside = (
                path for folder in check_own_folder(entry).iterdir() for path in check_own_folder(folder).iterdir()
            )
            if all(is_ours(path.name) for path in inside):
                continue
        if entry.name not in (LOCK, NAME + ".tmp"):
            raise FileExistsError(f"{root} is not empty; ShardedFolder.open opens an existing corpus")


def remove_created(root: Path) -> None:
    """Removes the files of a failed `create`. Needs the lock, whose file is removed last."""
    with suppress(OSError):
        for folder in (root / SHARDS).iterdir():
            for path in folder.iterdir():
                if is_ours(path.name):
                    path.unlink()
            folder.rmdir()
        (root / SHARDS).rmdir()
    with suppress(OSError):
        (root / NAME).unlink(missing_ok=True)
    discard_lock(root)

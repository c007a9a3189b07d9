"""The pictures of a collection's pages: files named by the SHA-256 of their content, so each is stored once.

A picture is on disk before the record that names it is committed. So after a crash there may be a picture that no
record names, which the next compaction removes, but never a record without its picture.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection as Set
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from maxsieve.common.files import check_own_folder, opening_own_file, read_small, replacing_as, sync_folder
from maxsieve.errors import DamagedIndexError
from maxsieve.text.pages.page import PageDocument

FOLDER = "pictures"
LARGEST = 1 << 24
"""Limit on the bytes of a picture."""

_NAME = re.compile(r"[0-9a-f]{64}\.webp(\.tmp)?")


class Pictures:
    """The folder of pictures of a collection."""

    def __init__(self, collection: Path) -> None:
        self._folder = collection / FOLDER

    def put(self, pages: Iterable[PageDocument]) -> None:
        """Stores the pictures of pages durably, unless they are there."""
        folders: set[Path] = set()
        for page in pages:
            path = self._path(page.digest)
            if path.exists():
                continue
            if len(page.picture) > LARGEST:
                raise ValueError(f"the picture of a page has {len(page.picture):,} bytes; at most {LARGEST:,} are kept")
            check_own_folder(self._folder).mkdir(exist_ok=True)
            check_own_folder(path.parent).mkdir(exist_ok=True)
            with replacing_as(path.with_name(path.name + ".tmp"), path) as file:
                file.write(page.picture)
            folders |= {path.parent, self._folder, self._folder.parent}
        for folder in folders:
            sync_folder(folder)

    def read(self, digest: str) -> bytes:
        """A picture; `DamagedIndexError` if it is missing or has another content."""
        path = self._path(digest)
        check_own_folder(self._folder)
        check_own_folder(path.parent)
        try:
            with opening_own_file(path):
                content = read_small(path, at_most=LARGEST)
        except FileNotFoundError:
            raise DamagedIndexError(f"{path} is missing: a compaction may have removed the picture") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise DamagedIndexError(f"{path} does not have the SHA-256 that its name says")
        return content

    def exist(self) -> bool:
        """Whether there is a folder of pictures: most collections have none."""
        return check_own_folder(self._folder).exists()

    def keep(self, digests: Set[str]) -> None:
        """Removes all other pictures, and what a crash left."""
        for path in list(self._files()):
            if path.name.removesuffix(".webp") not in digests:
                with suppress(FileNotFoundError):
                    path.unlink()

    def verify(self, digests: Iterable[str]) -> None:
        """Reads these pictures; `DamagedIndexError` names the first that is missing or damaged."""
        for digest in digests:
            self.read(digest)

    def _files(self) -> Iterator[Path]:
        if not self.exist():
            return
        for folder in sorted(self._folder.iterdir()):
            if len(folder.name) == 2 and folder.is_dir() and not folder.is_symlink():
                yield from (folder / name for name in sorted(os.listdir(folder)) if _NAME.fullmatch(name))

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.webp"

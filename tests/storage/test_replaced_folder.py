"""A folder that is replaced while a writer works in it: neither the old index nor the new one is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import IndexLockedError
from maxsieve.storage.lock import NAME, writer_lock

ONE = np.ones((2, 4), np.float32)


def make(path: Path, prefix: str) -> None:
    """An index of several files."""
    with ms.Index.create(4, path=path) as index:
        for number in range(5):
            index.add([ONE * number], [f"{prefix}{number}"], metadata=[{"n": number}])


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != NAME}


def another(path: Path) -> None:
    make(path, "b")


def copied(path: Path) -> None:
    shutil.copytree(path.with_name("away"), path)
    with ms.Index.open(path) as copy:
        copy.add([ONE], ["later"])


@pytest.mark.parametrize("replace", [another, copied])
def test_an_index_that_is_replaced_while_documents_come(tmp_path: Path, replace: Callable[[Path], None]) -> None:
    path = tmp_path / "it"
    make(path, "a")
    before: dict[str, dict[str, bytes]] = {}

    def documents() -> Iterator[Any]:
        yield ONE
        path.rename(tmp_path / "away")
        before["old"] = files(tmp_path / "away")
        replace(path)
        before["new"] = files(path)
        yield ONE

    with ms.Index.open(path) as index, pytest.raises(IndexLockedError, match="replaced"):
        index.add(documents(), ["x", "y"])
    assert files(path) == before["new"]
    assert files(tmp_path / "away").items() >= before["old"].items()
    for one in (path, tmp_path / "away"):
        with ms.Index.open(one) as index:
            index.verify()
            assert "x" not in index


def test_a_lock_of_another_folder_is_not_held(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    with writer_lock(folder) as check:
        check()
        folder.rename(tmp_path / "away")
        with pytest.raises(IndexLockedError, match="removed"):
            check()
        folder.mkdir()
        (folder / NAME).touch()
        with pytest.raises(IndexLockedError, match="replaced"):
            check()
        (folder / NAME).unlink()
        (folder / NAME).symlink_to(tmp_path / "away" / NAME)
        with pytest.raises(IndexLockedError):
            check()

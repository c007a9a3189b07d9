"""A corpus in shards whose folder is replaced while a writer works in it. On Windows, a folder in use can't be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from maxsieve.cluster.folder import ShardedFolder
from maxsieve.errors import IndexLockedError

from .holding import content, fill, put, some


def test_a_corpus_in_shards_that_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "it"
    folder = fill(path)
    with folder.writing():
        path.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", path)
        before = (path / "cluster.json").read_bytes()
        with pytest.raises(IndexLockedError, match="replaced"):
            put(folder, some(7, 2), ["x", "y"])
    assert (path / "cluster.json").read_bytes() == before
    assert content(ShardedFolder.open(path)) == content(ShardedFolder.open(tmp_path / "away"))

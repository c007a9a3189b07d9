"""Files that belong to an index as a whole: named by the manifest, verified, carried along, never written unasked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.manifest import read_manifest

NAME = "00000002.codebook"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with a codebook."""
    path = tmp_path / "index"
    with ms.Index.build([np.ones((2, 3)), np.eye(3)], ["a", "b"], path=path) as index:
        assert "extras" not in json.loads((path / "manifest.json").read_text())
        index.train_codebook()
    assert read_manifest(path).extras["codebook"].name == NAME
    return path


def test_it_is_carried_along(path: Path) -> None:
    (path / "00000001.codebook").write_bytes(b"left by a crash")
    before = read_manifest(path).extras
    with ms.Index.open(path) as index:
        index.add([np.ones((1, 3))], ["c"])
        index.delete("a")
        index.compact()
        index.verify()
    assert read_manifest(path).extras == before
    assert {name for name in os.listdir(path) if name.endswith(".codebook")} == {NAME}


def test_it_is_verified(path: Path) -> None:
    content = bytearray((path / NAME).read_bytes())
    with ms.Index.open(path) as index:
        content[-1] ^= 1
        (path / NAME).write_bytes(content)
        with pytest.raises(DamagedIndexError, match=NAME):
            index.verify()
    with pytest.raises(DamagedIndexError, match=NAME):
        ms.Index.open(path)


def test_it_must_be_there_and_no_link(path: Path) -> None:
    (path / NAME).rename(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{NAME} is missing"):
        ms.Index.open(path)
    (path / NAME).symlink_to(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{NAME} is a link"):
        ms.Index.open(path)

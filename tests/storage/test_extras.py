"""Files that belong to an index as a whole: named by the manifest, verified, carried along, never written unasked."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.storage import manifest
from maxsieve.storage.blocks import writing_blocks

NAME = "00000007.table"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with one file more than today's have."""
    monkeypatch.setattr(manifest, "EXTRA_KINDS", ("table",))
    path = tmp_path / "index"
    ms.Index.build([np.ones((2, 3)), np.zeros((1, 3))], ["a", "b"], path=path).close()
    assert "extras" not in json.loads((path / "manifest.json").read_text())
    with writing_blocks(path / NAME) as writer:
        writer.write("numbers", "<f4", 2, [np.ones((5, 2))])
    old = manifest.read_manifest(path)
    manifest.write_manifest(path, replace(old, next_file=8, extras={"table": NAME}))
    return path


def test_it_is_carried_along(path: Path) -> None:
    (path / "00000005.table").write_bytes(b"left by a crash")
    with ms.Index.open(path) as index:
        index.add([np.ones((1, 3))], ["c"])
        index.delete("a")
        index.compact()
        index.verify()
    assert manifest.read_manifest(path).extras == {"table": NAME}
    assert {name for name in os.listdir(path) if name.endswith(".table")} == {NAME}


def test_it_is_verified(path: Path) -> None:
    content = bytearray((path / NAME).read_bytes())
    content[-1] ^= 1
    (path / NAME).write_bytes(content)
    with ms.Index.open(path) as index, pytest.raises(DamagedIndexError, match=NAME):
        index.verify()


def test_it_must_be_there_and_no_link(path: Path) -> None:
    (path / NAME).rename(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{NAME} is missing"):
        ms.Index.open(path)
    (path / NAME).symlink_to(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{NAME} is a link"):
        ms.Index.open(path)

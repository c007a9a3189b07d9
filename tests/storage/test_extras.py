"""Files that belong to an index as a whole, its codebook and calibration: they are kept, verified, never a link."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.manifest import read_manifest

KINDS = ("codebook", "calibration")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A calibrated index. Before that, its manifest had no further files."""
    path, rng = tmp_path / "index", np.random.default_rng(0)
    index = ms.Index.build(rng.standard_normal((60, 3)), [f"d{i}" for i in range(20)], lengths=[3] * 20, path=path)
    assert not {"extras", "added", "deleted"} & json.loads((path / "manifest.json").read_text()).keys()
    index.calibrate(rng.standard_normal((9, 2, 3)), k=4)
    index.close()
    return path


def test_they_are_carried_along(path: Path) -> None:
    extras = read_manifest(path).extras
    assert sorted(extras) == sorted(KINDS)
    (path / "00000001.codebook").write_bytes(b"left by a crash")
    with ms.Index.open(path) as index:
        index.add([np.ones((1, 3))], ["new"])
        index.delete("d0")
        index.verify()
        manifest = read_manifest(path)
        assert manifest.extras == extras
        assert (manifest.added, manifest.deleted, manifest.kept) == (1, 1, 19)
        assert [entry.lists is not None for entry in manifest.segments] == [True, False]
        index.compact()
        index.verify()
    manifest = read_manifest(path)
    assert manifest.extras["codebook"] == extras["codebook"]
    assert (manifest.added, manifest.deleted, manifest.kept) == (0, 0, 20)
    here = {name for name in os.listdir(path) if name.endswith(KINDS)}
    assert here == {extra.name for extra in manifest.extras.values()}
    (entry,) = manifest.segments
    assert {name for name in os.listdir(path) if name.endswith(".lists")} == {entry.lists}


@pytest.mark.parametrize("kind", KINDS)
def test_they_must_be_there_and_no_links(path: Path, kind: str) -> None:
    name = read_manifest(path).extras[kind].name
    (path / name).rename(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{name} is missing"):
        ms.Index.open(path)
    (path / name).symlink_to(path.parent / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{name} is a link"):
        ms.Index.open(path)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_verified(path: Path, kind: str) -> None:
    name = read_manifest(path).extras[kind].name
    content = bytearray((path / name).read_bytes())
    with ms.Index.open(path) as index:
        content[-1] ^= 1
        with (path / name).open("r+b") as file:  # Windows does not truncate a mapped file
            file.write(content)
        with pytest.raises(DamagedIndexError, match=name):
            index.verify()
    with pytest.raises(DamagedIndexError, match=name):
        ms.Index.open(path)


def test_making_them_again_leaves_no_old_ones(path: Path) -> None:
    with ms.Index.open(path) as index:
        index.train_codebook()
        index.recalibrate()
    named = read_manifest(path).files
    assert {name for name in os.listdir(path) if name.endswith((*KINDS, "lists", "segment"))} <= named

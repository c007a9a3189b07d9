"""Frozen indexes, as an earlier maxsieve has written them: they open, verify and answer as ever, and can be changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.support import contents
from maxsieve.storage.blocks import BlockFile

GOLDEN = Path(__file__).parents[1] / "golden"
INDEXES = sorted(path.with_suffix("") for path in GOLDEN.glob("v1/*.json"))
assert len(INDEXES) >= 2


@pytest.fixture(params=INDEXES, ids=lambda path: f"{path.parent.name}-{path.name}")
def frozen(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


@pytest.fixture
def wanted(frozen: Path) -> Any:
    return json.loads(frozen.with_suffix(".json").read_text())


@pytest.fixture
def copy(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(frozen, tmp_path / "copy"))


def check(index: ms.Index, wanted: Any) -> None:
    assert index.dim == wanted["dim"]
    assert index.ids == wanted["ids"]
    rows = [index.vectors(one) for one in index.ids]
    assert [array.astype(array.dtype.newbyteorder("<")).tobytes().hex() for array in rows] == wanted["vectors"]
    assert [index.metadata(one) for one in index.ids] == wanted["metadata"]
    for answer in wanted["answers"]:
        query = np.frombuffer(bytes.fromhex(answer["query"]), "<f4").reshape(-1, index.dim)
        for policy in (ms.Certified(), ms.Exhaustive()):
            hits = index.search(query, 6, policy=policy)
            assert hits.ids == answer["ids"]
            assert hits.scores.astype("<f4").tobytes().hex() == answer["scores"]
            assert hits.metadata == answer["metadata"]


def test_it_answers_as_it_did(frozen: Path, wanted: Any, isa: str) -> None:
    before = {path.name: path.read_bytes() for path in frozen.iterdir()}
    with ms.Index.open(frozen) as index:
        index.verify()
        assert len(index.snapshot.segments) == 2
        assert len(index) < len(index.snapshot.alive)
        check(index, wanted)
    assert {path.name: path.read_bytes() for path in frozen.iterdir()} == before


def test_it_can_be_changed(copy: Path, wanted: Any) -> None:
    index = ms.Index.open(copy)
    index.compact()
    index.verify()
    assert len(index.snapshot.segments) == 1
    check(index, wanted)
    new: Any = "new" if isinstance(index.ids[0], str) else 555
    index.add([np.ones((2, index.dim))], [new], metadata=[{"is": "new"}])
    index.add([np.ones((1, index.dim))], index.ids[:1], replace=True)
    assert index.ids == [*wanted["ids"][1:], new, wanted["ids"][0]]
    again = ms.Index.open(copy)
    again.verify()
    assert contents(again) == contents(index)
    assert again.metadata(new) == {"is": "new"}


def test_what_is_written_today_has_the_same_form(tmp_path: Path) -> None:
    """A change of the format needs a new version and new frozen files; this notices if one slipped in."""
    command = [sys.executable, str(GOLDEN / "make_v1.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, check=True, env=environment, timeout=60)
    for frozen in (path for path in INDEXES if path.parent.name == "v1"):
        written = tmp_path / frozen.name
        assert sorted(os.listdir(frozen)) == sorted(os.listdir(written))
        assert frozen.with_suffix(".json").read_text() == written.with_suffix(".json").read_text()
        manifests = [json.loads((path / "manifest.json").read_text()) for path in (frozen, written)]
        for manifest in manifests:
            del manifest["checksum"]
            for part in manifest["parts"]:
                del part["records_crc"]  # another SQLite may lay its pages out otherwise
        assert manifests[0] == manifests[1]
        for path in (*frozen.glob("*.segment"), *frozen.glob("*.deleted")):
            assert BlockFile(path).blocks == BlockFile(written / path.name).blocks

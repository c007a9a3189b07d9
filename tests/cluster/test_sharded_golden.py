"""A frozen corpus in shards: it opens, has its content, can be changed, and would be written the same today."""

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

from golden.freezing import GOLDEN
from golden.make_shards import shown
from index.support import listed
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import rebalance
from maxsieve.storage.blocks import BlockFile

from .holding import content, files, put

OLD, FROZEN = (GOLDEN / name / "corpus" for name in ("shards", "shards2"))
"""With tier 0, as an earlier version has written it; and with lists."""


@pytest.fixture(params=[OLD, FROZEN], ids=["old", "new"])
def frozen(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def wanted(frozen: Path) -> Any:
    return json.loads(frozen.with_suffix(".json").read_text())


def test_it_holds_what_it_held(frozen: Path, wanted: Any, isa: str) -> None:
    folder = ShardedFolder.open(frozen)
    folder.verify()
    assert shown(folder) == wanted
    book = folder.snapshot.here.codebook
    assert book is not None
    here = folder.snapshot.here
    assert book.is_tier0 == (frozen == OLD)
    if book.is_tier0:
        for segment in here.segments:
            assert book.name_tokens(segment, 1).centroids.tobytes() == segment.centroids.tobytes()
    else:
        again = listed(here.coded(book, 1))
        assert all(mine in ([], again[one]) for one, mine in listed(here).items())
        assert any(listed(here).values())


def test_it_can_be_changed(frozen: Path, wanted: Any, tmp_path: Path) -> None:
    folder = ShardedFolder.open(shutil.copytree(frozen, tmp_path / "copy"))
    folder.compact()
    rebalance(folder, 5)
    folder.verify()
    assert shown(folder) == wanted
    put(folder, [np.ones((1, 12))], ["last"])
    assert [one[0] for one in content(folder)] == [*(one[0] for one in wanted["documents"]), "last"]


def test_it_would_be_written_the_same(tmp_path: Path) -> None:
    """Except for the pages of SQLite, whose layout depends on its version."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = [sys.executable, str(GOLDEN / "make_shards.py"), str(tmp_path)]
    subprocess.run(script, check=True, env=environment, timeout=300)
    assert FROZEN.with_suffix(".json").read_text() == (tmp_path / "corpus.json").read_text()
    names = files(ShardedFolder.open(FROZEN)) - {"lock"}
    assert names == files(ShardedFolder.open(tmp_path / "corpus"))
    for name in names:
        frozen, written = FROZEN / name, tmp_path / "corpus" / name
        if frozen.suffix in (".json", ".manifest"):
            assert _told(frozen) == _told(written), name
        elif frozen.suffix != ".records":
            assert BlockFile(frozen).blocks == BlockFile(written).blocks, name


def _told(path: Path) -> Any:
    told = json.loads(path.read_text())
    del told["checksum"]
    for part in told.get("parts", []):
        del part["records_crc"]
    for shard in told.get("shards", []):
        del shard["crc"]
    return told

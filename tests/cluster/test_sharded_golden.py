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
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebalancing import rebalance
from maxsieve.storage.blocks import BlockFile

from .holding import content, files, put

FROZEN = GOLDEN / "shards" / "corpus"


@pytest.fixture
def wanted() -> Any:
    return json.loads(FROZEN.with_suffix(".json").read_text())


def test_it_holds_what_it_held(wanted: Any, isa: str) -> None:
    folder = ShardedFolder.open(FROZEN)
    folder.verify()
    assert shown(folder) == wanted
    book = folder.snapshot.here.codebook
    assert book is not None
    for segment in folder.snapshot.here.segments:
        assert book.name_tokens(segment, 1).centroids.tobytes() == segment.centroids.tobytes()


def test_it_can_be_changed(wanted: Any, tmp_path: Path) -> None:
    folder = ShardedFolder.open(shutil.copytree(FROZEN, tmp_path / "copy"))
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

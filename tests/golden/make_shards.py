"""Makes the frozen corpus in shards with lists: ``python tests/golden/make_shards.py``, from an installed maxsieve.

The one with tier 0, in ``shards``, was made by an earlier version.

As with indexes, these files never change after a release has written them (``make_shards.py FOLDER`` writes elsewhere).
"""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.holding import content, put
from golden.freezing import GOLDEN, list_later
from golden.make_v2 import DIM, documents, queries
from maxsieve.calibrate import FoundHits, Wanted, to_calibration
from maxsieve.cluster import folder as folder_module
from maxsieve.cluster import shard as shard_module
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import train_codebook
from maxsieve.storage import codebook, disk
from maxsieve.storage.codebook import Walk
from maxsieve.storage.segments import Layout
from maxsieve.where import to_where


def shown(folder: ShardedFolder) -> dict[str, Any]:
    """The content of a corpus, in order. Vectors are hexadecimal."""
    calibration = folder.snapshot.calibration
    return {
        "documents": [[one, vectors.hex(), record, number] for one, vectors, record, number in content(folder)],
        "ranks": None if calibration is None else calibration.hits["documents"].ranks[0].tolist(),
        "changes": list(folder.snapshot.changes),
    }


def make(path: Path) -> ShardedFolder:
    """Three shards with tombstones and lists, a replaced document, a calibration and later changes."""
    folder = ShardedFolder.create(path, Layout(DIM, similarity="cosine"), shards=3)
    put(folder, documents(1, 20), [f"d{i}" for i in range(20)], [{"n": i} if i % 2 else None for i in range(20)])
    folder.delete(["d3", "d7"])
    train_codebook(folder)
    with folder.writing():
        found = {"documents": [FoundHits(["d0", "d1", "d2"], [3.0, 2.0, 1.0])] * 4}
        ranks = {"documents": [np.array([[3 * i + 1, 3 * i + 2, 3 * i + 3]]) for i in range(4)]}
        wanted, there = Wanted(queries(1, 4), 3, "queries"), folder.manifest.searchable
        made = [
            to_calibration(found, ranks, (Walk(4, 2),), wanted._replace(where=where), there)
            for where in (None, to_where({"n": {"lt": 9}}))
        ]
        folder.commit({}, calibrations=made)
    put(folder, documents(2, 3), ["d5", "ü", "more"], ["new", None, None], replace=True, delete=["d9"])
    return folder


def main() -> None:
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN / "shards2"
    numbers = count(1)
    for module in (folder_module, shard_module):  # the same files every time
        module.number_from_clock = lambda: next(numbers)  # type: ignore[attr-defined]
    secrets.token_hex = lambda nbytes=None: "0123456789abcdef"
    time.time = lambda: 1_700_000_000.0
    disk.SMALL_BYTES, codebook.FEWEST = 0, 16
    list_later()
    shutil.rmtree(where / "corpus", ignore_errors=True)
    where.mkdir(parents=True, exist_ok=True)
    folder = make(where / "corpus")
    folder.verify()
    (where / "corpus.json").write_text(json.dumps(shown(folder), indent=1) + "\n")
    named = {folder.path / "cluster.json", *(folder.path / one.name for one in folder.manifest.calibrations)}
    named |= {path for version in folder.manifest.shards for path in shard_module.files_of(folder.path, version)}
    for path in folder.path.rglob("*"):
        if path.is_file() and path not in named:
            path.unlink()


if __name__ == "__main__":
    main()

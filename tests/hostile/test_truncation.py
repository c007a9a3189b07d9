"""Files that are truncated while they are mapped: an error, although the system would kill the process (SIGBUS)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRUNCATED = """
import os, sys
import numpy as np
import maxsieve as ms
from maxsieve.errors import DamagedIndexError

path, what = sys.argv[1:]
rng = np.random.default_rng(0)
documents = [rng.standard_normal((40, 64)).astype(np.float32) for _ in range(300)]
ids = [f"d{i}" for i in range(300)]
ms.Index.build(documents, ids, path=path, metadata=ids).close()
index = ms.Index.open(path)
hits = index.search(documents[0], k=3) if what == "explain" else None
state = index.storage.snapshot
os.truncate(f"{path}/00000001.segment", 4096)
calls = {
    "search": lambda: index.search(documents[0]),
    "search_many": lambda: index.search_many(documents[:3]),
    "candidates": lambda: index.search(documents[0], candidates=ids[:3]),
    "exclude": lambda: index.search(documents[0], exclude=ids),
    "explain": lambda: hits.explain(0),
    "vectors": lambda: index.vectors("d7"),
    "contains": lambda: "d7" in index,
    "ids": lambda: index.ids,
    "tokens": lambda: index.tokens,
    "metadata": lambda: index.metadata("d7"),
    "verify": lambda: index.verify(),
    "compact": lambda: (index.delete("d7"), index.compact()),
    "add": lambda: index.add(documents[:1], ["d7"], replace=True),
}
try:
    calls[what]()
except DamagedIndexError as problem:
    print(problem)
"""


CALLS = ["search", "search_many", "candidates", "exclude", "explain", "vectors", "contains", "ids", "tokens"]


@pytest.mark.parametrize("what", [*CALLS, "metadata", "verify", "compact", "add"])
def test_a_truncated_segment_is_an_error(tmp_path: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATED, tmp_path / "index", what], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "00000001.segment has 4096 bytes now; it had" in done.stdout


EXCHANGED = """
import os, sys
import numpy as np
import maxsieve as ms
from maxsieve import exchange

path, what = sys.argv[1:]
rows = np.random.default_rng(0).standard_normal((4000, 64)).astype(np.float32)
exchange.write(exchange.TokenVectors(rows, [10] * 400), path)
vectors = np.load(path, mmap_mode="r") if what == "numpy" else exchange.read(path)
os.truncate(path, 4096)
calls = {
    "numpy": lambda: ms.Index.build(vectors, lengths=[10] * 400),
    "build": lambda: vectors.build(),
    "documents": lambda: sum(float(rows.sum()) for rows in vectors.documents()),
    "write": lambda: exchange.write(vectors, path + ".npz"),
}
try:
    calls[what]()
except ValueError as problem:
    print(problem)
"""


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("it.npy", "numpy"),
        *((name, what) for name in ("it.npy", "it.npz", "it.safetensors") for what in ("build", "documents", "write")),
    ],
)
def test_truncated_vectors_are_an_error(tmp_path: Path, name: str, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXCHANGED, str(tmp_path / name), what], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "was truncated: it has 4096 bytes" in done.stdout
    assert not os.path.exists(tmp_path / f"{name}.npz")


STREAMED = """
import os, sys
import numpy as np
from maxsieve import exchange

path = sys.argv[1]
rows = np.random.default_rng(0).standard_normal((400_000, 64)).astype(np.float32)
index = exchange.TokenVectors(rows, [10] * 40_000).build()
exchange.write(index, path)
chunks = exchange.stream(path).chunks()
next(chunks)
os.truncate(path, 4096)
try:
    next(chunks)
except (ValueError, OSError) as problem:
    print(problem)
"""


@pytest.mark.parametrize("name", ["it.arrow", "it.parquet"])
def test_truncated_batches_are_an_error(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    done = subprocess.run(
        [sys.executable, "-c", STREAMED, str(tmp_path / name)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert name in done.stdout

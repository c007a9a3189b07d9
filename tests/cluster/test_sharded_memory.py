"""Changes of a corpus in shards take little memory, however large it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from maxsieve.cluster import writing
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebalancing import rebalance
from maxsieve.cluster.training import train_codebook
from maxsieve.storage import codebook, segment_file, segments

from .holding import put

DIM, DOCUMENTS, TOKENS = 32, 3000, 60
ROWS_BYTES = DOCUMENTS * TOKENS * DIM * 4
"""What the vectors take: 23 MB."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(segment_file, "PIECE_BYTES", 1 << 16)
    monkeypatch.setattr(writing, "CHUNK_BYTES", 1 << 18)
    monkeypatch.setattr(codebook, "SAMPLE", 1)


def docs() -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for _ in range(DOCUMENTS):
        yield rng.standard_normal((TOKENS, DIM), dtype=np.float32)


def peak(change: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        change()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    ids = [f"d{i}" for i in range(DOCUMENTS)]
    folder = ShardedFolder.create(tmp_path / "corpus", DIM, shards=2)
    small = ROWS_BYTES // 5
    assert peak(lambda: put(folder, docs(), ids)) < small  # type: ignore[arg-type]
    folder.delete(ids[::3])
    assert peak(lambda: rebalance(folder, 3)) < small
    assert peak(folder.compact) < small
    assert peak(lambda: train_codebook(folder)) < small
    assert peak(lambda: rebalance(folder, 1)) < small
    assert folder.manifest.documents == len(ids) - len(ids[::3])
    assert folder.nbytes > ROWS_BYTES // 2

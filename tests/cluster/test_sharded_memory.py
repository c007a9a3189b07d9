"""Changes of a corpus in shards need little memory, however large it is."""

from __future__ import annotations

from pathlib import Path

from storage.test_streaming import output

DIM, DOCUMENTS, TOKENS = 32, 3000, 60
ROWS_BYTES = DOCUMENTS * TOKENS * DIM * 4
"""The size of the vectors: 23 MB."""

# In a separate process, because threads that other tests have left would count, too.
PEAKS = f"""
import sys, tracemalloc
from pathlib import Path
import numpy as np
from cluster.holding import put
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.storage.segments import Layout
from maxsieve.cluster.rebuild import rebalance
from maxsieve.cluster.rebuild import train_codebook
from maxsieve.storage import codebook, segment_file, segments

segments.BLOCK_BYTES = 1 << 18
segment_file.PIECE_BYTES = 1 << 16
codebook.SAMPLE = 1
rng = np.random.default_rng(0)
docs = (rng.standard_normal(({TOKENS}, {DIM}), dtype=np.float32) for _ in range({DOCUMENTS}))
ids = [f"d{{i}}" for i in range({DOCUMENTS})]
folder = ShardedFolder.create(Path(sys.argv[1]), Layout({DIM}), shards=2)
changes = (
    lambda: put(folder, docs, ids),
    lambda: folder.delete(ids[::3]),
    lambda: rebalance(folder, 3),
    folder.compact,
    lambda: train_codebook(folder),
    lambda: rebalance(folder, 1),
)
for change in changes:
    tracemalloc.start()
    change()
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
print(folder.manifest.documents)
print(folder.snapshot.nbytes)
"""


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    *peaks, documents, nbytes = map(int, output(PEAKS, tmp_path / "corpus"))
    assert len(peaks) == 6
    assert max(peaks) < ROWS_BYTES // 5, peaks
    assert documents == DOCUMENTS - DOCUMENTS // 3
    assert nbytes > ROWS_BYTES // 2

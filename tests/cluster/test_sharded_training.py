"""The codebook of a corpus in shards is that of one index, bit for bit. A calibration is kept with the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.calibrate import FoundHits, Wanted, to_calibration
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import rebalance, train_codebook
from maxsieve.errors import DamagedIndexError
from maxsieve.storage import codebook
from maxsieve.storage.calibration import Changes
from maxsieve.storage.codebook import Codebook, Walk
from maxsieve.storage.segments import Layout

from .holding import DIM, content, fill, put, some


def same_books(ours: Codebook | None, theirs: Codebook | None) -> None:
    assert ours is not None
    assert theirs is not None
    for name in ("heads", "starts", "codes", "length"):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
    assert (ours.scale, ours.tokens) == (theirs.scale, theirs.tokens)


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
@pytest.mark.parametrize("store", ["float32", "int8"])
def test_the_codebook_is_that_of_one_index(
    shards: int, store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codebook, "MOST", 512)
    monkeypatch.setattr(codebook, "SAMPLE", 1)  # so that it matters which tokens are drawn, and in which order
    folder = ShardedFolder.create(tmp_path / "corpus", Layout(DIM, store), shards=shards)
    index = ms.Index.create(DIM, store=store)
    docs, ids = some(3, 900), [f"d{i}" for i in range(900)]
    for one in (index.add, lambda *given: put(folder, *given)):
        one(docs[:500], ids[:500])
    for one in (index.delete, folder.delete):
        one(ids[100:300])
    for first, last in ((500, 700), (700, 900)):
        index.add(docs[first:last], ids[first - 450 : last - 450], replace=True)
        put(folder, docs[first:last], ids[first - 450 : last - 450], replace=True)
    index.train_codebook()
    train_codebook(folder)
    assert index.tokens > 2 * codebook.centroids_for(index.tokens)
    same_books(folder.snapshot.here.codebook, index.storage.snapshot.codebook)
    folder.verify()
    before = content(folder)
    rebalance(folder, 5)
    same_books(folder.snapshot.here.codebook, index.storage.snapshot.codebook)
    assert content(folder) == before


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    folder = ShardedFolder.create(tmp_path / "corpus", Layout(DIM), shards=2)
    with pytest.raises(ValueError, match="token"):
        train_codebook(folder)
    assert folder.manifest.generation == 0


def calibrate(folder: ShardedFolder) -> None:
    queries = [np.ones((2, DIM), np.float32), np.zeros((1, DIM), np.float32)]
    found = {"documents": [FoundHits(["a1", "a2", "a3"], [3.0, 2.0, 1.0])] * 2}
    ranks = {"documents": [np.array([[1, 2, 4]]), np.array([[2, 1, 3]])]}
    with folder.writing():
        made = to_calibration(found, ranks, (Walk(4, 2),), Wanted(queries, 3, "queries"), folder.manifest.searchable)
        folder.commit({}, calibrations=[made])


def test_a_calibration_counts_changes_and_is_void_with_another_codebook(tmp_path: Path) -> None:
    folder = fill(tmp_path / "corpus")
    with pytest.raises(DamagedIndexError, match=r"\.calibration'"):
        calibrate(folder)
    assert folder.snapshot.calibration is None
    train_codebook(folder)
    calibrate(folder)
    found = folder.snapshot.calibration
    assert found is not None
    assert found.hits["documents"].ranks.tolist() == [[[1, 2, 4], [2, 1, 3]]]
    assert (found.walks, found.wanted, found.origin) == (((4, 2),), 3, "queries")
    assert [one.tolist() for one in found.queries] == [[[1.0] * DIM] * 2, [[0.0] * DIM]]
    assert found.documents == folder.manifest.searchable
    put(folder, some(4, 3), ["b1", "a1", "b2"], replace=True, delete=["a5"])
    assert folder.snapshot.changes == Changes(added=3, deleted=2)
    folder.delete(["b1"])
    folder.compact()
    rebalance(folder, 4)
    again = ShardedFolder.open(folder.path)
    assert again.snapshot.changes == Changes(added=3, deleted=3)
    assert again.snapshot.calibration is not None
    train_codebook(again)
    assert again.snapshot.calibration is None
    assert again.snapshot.changes == Changes()


def test_a_calibration_of_another_corpus_is_refused(tmp_path: Path) -> None:
    folder = fill(tmp_path / "corpus")
    train_codebook(folder)
    calibrate(folder)
    kept = folder.snapshot.calibration
    put(folder, [np.ones((1, DIM))], ["more"])
    with folder.writing(), pytest.raises(ValueError, match=r"\b8\b.*\b9\b"):
        folder.commit({}, calibrations=[kept])

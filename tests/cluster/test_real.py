"""Real token vectors in shards: the answers of one index, with about as many rescored documents."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from cluster.local import LocalIndex
from cluster.support import POLICIES, compare
from maxsieve.cluster import Cluster

MEMBERS = 8


@pytest.fixture(scope="module")
def vectors() -> Any:
    folder = os.environ.get("MAXSIEVE_CORPORA")
    if not folder:
        pytest.skip("MAXSIEVE_CORPORA is not set: no real vectors to test with")
    from benchmarks.vectors.real import load

    return load(Path(folder) / "scifact", documents=300, queries=25)


@pytest.fixture(scope="module")
def one(vectors: Any) -> ms.Index:
    return ms.Index.build(vectors.doc_rows, vectors.doc_ids, lengths=vectors.doc_lengths)


def test_bits_are_those_of_one_index(vectors: Any, one: ms.Index, sharded: Callable[..., ms.Index]) -> None:
    several = sharded(vectors.doc_rows, vectors.doc_ids, lengths=vectors.doc_lengths, shards=7)
    for k in (5, 100):
        compare(one, several, vectors.queries[:10], k, POLICIES)
    for index in (one, several):
        index.calibrate(vectors.queries[:20], k=20)
    compare(one, several, vectors.queries[20:], 5, [ms.Calibrated(0.9)])


@pytest.mark.full
@pytest.mark.parametrize("k", [5, 10, 100])
def test_members_together_rescore_about_as_many(vectors: Any, one: ms.Index, tmp_path: Path, k: int) -> None:
    """At most 1.5 times as many as one index, with eight members."""
    options: Any = {"lengths": vectors.doc_lengths, "shards": MEMBERS, "cluster": Cluster(actors_per_node=MEMBERS)}
    with LocalIndex.build(vectors.doc_rows, vectors.doc_ids, path=tmp_path / "corpus", **options) as several:
        compare(one, several, vectors.queries, k, [ms.Certified()])
        found = several.search_many(vectors.queries, k)
    assert {hits.report.members for hits in found} == {MEMBERS}
    alone = np.mean([hits.report.rescored for hits in one.search_many(vectors.queries, k)])
    together = np.mean([hits.report.rescored for hits in found])
    assert alone <= together <= 1.5 * alone

"""Answers without some shards: they name the missing shards, and guarantee nothing under any policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from cluster.local import LocalIndex
from cluster.support import POLICIES
from maxsieve.cluster import Cluster
from maxsieve.cluster.coordinator import ShardsUnavailableError
from maxsieve.cluster.manifest import read_cluster, shard_of

SHARDS = 5


def remove(path: Path, shard: int) -> None:
    version = read_cluster(path).shards[shard]
    (path / "shards" / version.folder / version.manifest).unlink()


@pytest.mark.parametrize("members", [1, 2, 4])
@pytest.mark.parametrize("policy", [*POLICIES, ms.Calibrated(0.9)], ids=repr)
def test_no_policy_guarantees_anything(tmp_path: Path, policy: Any, members: int) -> None:
    rng = np.random.default_rng(0)
    documents = [rng.standard_normal((length, 6)).astype(np.float32) for length in rng.integers(1, 9, 200)]
    queries = [rng.standard_normal((4, 6)).astype(np.float32) for _ in range(20)]
    path = tmp_path / "corpus"
    with LocalIndex.build(documents, path=path, shards=SHARDS) as index:
        index.calibrate(queries, k=5)
    for shard in (1, 3):
        remove(path, shard)
    left = [i for i in range(200) if shard_of(i, SHARDS) not in (1, 3)]
    with LocalIndex.open(path, cluster=Cluster(actors_per_node=members)) as index:
        hits = index.search(queries[0], 5, policy=policy, partial="allow")
        assert (hits.report.missing, hits.report.guarantee) == ((1, 3), "none")
        if not isinstance(policy, ms.Calibrated):
            want = ms.Index.build([documents[i] for i in left], left).search(queries[0], 5, policy=policy)
            assert list(hits) == list(want)
        with pytest.raises(ShardsUnavailableError):
            index.search(queries[0], 5, policy=policy, timeout=0.3)


@pytest.mark.parametrize("members", [1, 3])
def test_a_missing_shard_without_documents_is_missing(tmp_path: Path, members: int) -> None:
    """No member has searched it, so nobody knows whether it has hits."""
    path = tmp_path / "corpus"
    with LocalIndex.build([np.ones((1, 4), np.float32)] * 3, path=path, shards=8):
        empty = [shard for shard, version in enumerate(read_cluster(path).shards) if not version.documents]
    remove(path, empty[0])
    with LocalIndex.open(path, cluster=Cluster(actors_per_node=members)) as index:
        hits = index.search(np.ones((1, 4), np.float32), 5, partial="allow")
        assert (hits.ids, hits.report.missing, hits.report.guarantee) == ([0, 1, 2], (empty[0],), "none")

"""Real faults: killed or stopped processes, lost nodes, replaced versions, missing files."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from benchmarks.runs.cluster import faults as cluster_faults
from benchmarks.runs.cluster.nodes import add_node
from cluster.support import answer, compare
from index.support import eighths, query_of
from maxsieve.cluster.coordinator import ShardsUnavailableError
from maxsieve.cluster.manifest import read_cluster
from maxsieve.errors import DamagedIndexError

Build = Callable[..., ms.Index]
QUERIES = [query_of(seed, 6) for seed in range(4)]


def pids_of(index: ms.Index) -> list[int]:
    return [member.pid for member in index.searcher.members() if member.pid is not None]


@pytest.mark.parametrize("replicas", [1, 2])
def test_killed_members(sharded: Build, replicas: int) -> None:
    """One of three members, then all: others take over, or the search waits for a restart."""
    documents = eighths(0, 200)
    one, several = ms.Index.build(documents), sharded(documents, shards=6, replicas=replicas)
    compare(one, several, QUERIES[:1], 5, [ms.Certified()])
    for most in (1, 3):
        for pid in pids_of(several)[:most]:
            os.kill(pid, signal.SIGKILL)
        compare(one, several, QUERIES, 5, [ms.Certified(), ms.Bandit()])


def test_a_member_that_hangs(sharded: Build) -> None:
    """It is stopped and does not answer: another gets its calls, and it gets no new part until it answers again."""
    documents = eighths(1, 200)
    one, several = ms.Index.build(documents), sharded(documents, shards=6, replicas=2)
    compare(one, several, QUERIES[:1], 5, [ms.Certified()])
    stopped = pids_of(several)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        hits = [several.search(query, 5) for query in QUERIES]
        assert [answer(got) for got in hits] == [answer(one.search(query, 5)) for query in QUERIES]
        assert hits[0].report.hedged >= 1
        assert hits[-1].report.hedged == 0, "a suspected member was asked again"
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_a_killed_node(cluster: Any, sharded: Build) -> None:
    documents = eighths(2, 200)
    spare = add_node(cluster)
    one, several = ms.Index.build(documents), sharded(documents, shards=8)
    compare(one, several, QUERIES[:1], 5, [ms.Certified()])
    assert len(several.searcher.members()) == 4
    cluster.remove_node(spare, allow_graceful=False)
    compare(one, several, QUERIES, 5, [ms.Certified(), ms.Bandit()])


def test_another_connection_to_ray(cluster: Any, sharded: Build) -> None:
    """Actors end with the connection that started them. Others are started by the new one."""
    import ray

    documents = eighths(7, 100)
    one, several = ms.Index.build(documents), sharded(documents, shards=4)
    compare(one, several, QUERIES[:1], 5, [ms.Certified()])
    ray.shutdown()
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    compare(one, several, QUERIES, 5, [ms.Certified()])
    several.delete([3])
    one.delete([3])
    compare(one, several, QUERIES, 5, [ms.Certified()])


def test_shards_that_nobody_can_read(sharded: Build, tmp_path: Path) -> None:
    """Two files are missing. The answer names the missing shards and guarantees nothing, or there is an error."""
    documents, ids = eighths(3, 200), list(range(200))
    several = sharded(documents, ids, shards=6)
    folder = tmp_path / "corpus0"
    for shard in (1, 4):
        version = read_cluster(folder).shards[shard]
        (folder / "shards" / version.folder / version.manifest).unlink()
    hits = several.search(QUERIES[0], 5, partial="allow")
    assert (hits.report.missing, hits.report.guarantee) == ((1, 4), "none")
    left = [one for one in ids if shard_of(one) not in (1, 4)]
    want = ms.Index.build([documents[i] for i in left], left).search(QUERIES[0], 5)
    assert list(hits) == list(want)
    with pytest.raises(ShardsUnavailableError, match=r"shards .*\b1 s\b.*missing"):
        several.search(QUERIES[0], 5, timeout=1.0)


def shard_of(one: int) -> int:
    from maxsieve.cluster.manifest import shard_of

    return shard_of(one, 6)


def test_others_change_the_corpus(sharded: Build, tmp_path: Path) -> None:
    """The current version is searched while members have it, otherwise the newest."""
    documents = eighths(4, 120)
    mine = sharded(documents, shards=4)
    before = answer(ms.Index.build(documents).search(QUERIES[0], 5))
    assert answer(mine.search(QUERIES[0], 5)) == before
    with ms.Index.open(tmp_path / "corpus0") as other:
        one = ms.Index.build(documents)
        for first in (0, 10, 20):
            for index in (one, other):
                index.delete(list(range(first, first + 10)))
        assert answer(mine.search(QUERIES[0], 5)) == before
        for pid in pids_of(mine):
            os.kill(pid, signal.SIGKILL)
        assert answer(mine.search(QUERIES[0], 5)) == answer(one.search(QUERIES[0], 5))
        mine.refresh()
        assert mine.ids == one.ids == other.ids


def test_a_write_that_fails_changes_nothing(sharded: Build, tmp_path: Path) -> None:
    documents = eighths(5, 60)
    several = sharded(documents, shards=4)
    before = several.ids, answer(several.search(QUERIES[0], 5)), several.storage.snapshot.manifest.generation
    with pytest.raises(ValueError, match="ids: 7 is"):
        several.add(eighths(6, 12), [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 7])
    with pytest.raises(ValueError, match="document 102, row 0, dimension 1"):
        several.add([*eighths(6, 2), np.float32([[0, np.nan, 0, 0, 0]])], [100, 101, 102])
    with pytest.raises(KeyError, match=r"\b999\b"):
        several.delete([1, 999])
    assert (several.ids, answer(several.search(QUERIES[0], 5)), several.storage.snapshot.manifest.generation) == before
    version = read_cluster(tmp_path / "corpus0").shards[2]
    (tmp_path / "corpus0" / "shards" / version.folder / version.manifest).unlink()
    with pytest.raises((OSError, DamagedIndexError), match=version.manifest):
        several.add(eighths(6, 40), list(range(100, 140)))
    assert read_cluster(tmp_path / "corpus0").generation == before[2]


def test_kills_during_searches_and_adds(cluster: Any, tmp_path: Path) -> None:
    """The short form of benchmarks/runs/cluster/faults.py: no wrong answers, no lost documents, no duplicates."""
    figures = cluster_faults.run(
        cluster,
        tmp_path / "corpus",
        actor_kills=4,
        node_kills=1,
        actor_stops=1,
        pause=1.5,
        documents=300,
        searchers=1,
    )
    assert (figures.wrong, figures.failed, figures.lost, figures.twice) == ([], [], 0, 0)
    assert (figures.actor_kills, figures.node_kills, figures.actor_stops) == (4, 1, 1)
    assert figures.searches > 1
    assert figures.adds >= 1

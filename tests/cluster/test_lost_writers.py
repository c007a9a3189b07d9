"""Workers and nodes that are lost while they write shards: the corpus is at the old version or at the new one.

A task counts its steps on disk (what it syncs and renames), and ends at a chosen one: its own process, or its node.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import maxsieve as ms
from benchmarks.runs.cluster.nodes import add_node
from cluster.support import compare
from index.support import eighths, query_of
from maxsieve.cluster import folder, storage
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.leftovers import GRACE_SECONDS
from maxsieve.errors import MaxsieveError

from .holding import files, named

Build = Callable[..., ms.Index]
SHARDS, STEPS = 8, 10
"""A task that adds and deletes documents takes as many steps on disk, or a few more."""


def ending_at(change: Any, step: int, mark: Path, nodes: list[str], *, with_node: bool, always: bool = False) -> Any:
    """The same change of a shard, during which one worker, or the node of one worker, is killed at a step.

    Only workers on these nodes are killed, only the first that gets there, unless ``always``. It leaves a mark.
    """

    def changed(*arguments: Any) -> Any:
        import os
        import signal

        import ray

        counted = 0
        before = os.fsync, os.replace

        def count(call: Any) -> Any:
            def counting(*given: Any, **named: Any) -> Any:
                nonlocal counted
                counted += 1
                if counted == step and ray.get_runtime_context().get_node_id() in nodes:
                    try:
                        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                        first = True
                    except FileExistsError:
                        first = False
                    if first or always:
                        if with_node:
                            os.kill(os.getppid(), signal.SIGKILL)
                        os.kill(os.getpid(), signal.SIGKILL)
                return call(*given, **named)

            return counting

        os.fsync, os.replace = map(count, before)
        try:
            return change(*arguments)
        finally:
            os.fsync, os.replace = before

    return changed


def check_next_writers(path: Path, one: ms.Index) -> None:
    """Others can write, and what was left by those who are gone is removed once it is old."""
    with ms.Index.open(path) as other:
        for number in (50_000, 50_001):
            for index in (one, other):
                index.add(eighths(number, 1), [number])
    corpus = ShardedFolder.open(path)
    corpus.verify()
    assert corpus.snapshot.ids_in_order() == one.ids
    before = named(corpus)
    for name in files(corpus) - before:
        old = time.time() - 2 * GRACE_SECONDS
        os.utime(path / name, (old, old))
    corpus.delete([50_000])  # in this process
    assert files(corpus) == before | named(corpus)
    one.delete([50_000])
    assert corpus.snapshot.ids_in_order() == one.ids


def nodes_of(cluster: Any) -> list[str]:
    """The ids of all nodes that run."""
    import ray

    return [node["NodeID"] for node in ray.nodes() if node["Alive"]]


def test_workers_that_are_lost_while_they_add(
    cluster: Any, sharded: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, add_chunk = eighths(0, 120), storage.append_to_shard
    one, several = ms.Index.build(documents), sharded(documents, shards=SHARDS)
    for step in range(1, STEPS + 1):
        mark, first = tmp_path / f"mark{step}", 1000 * step
        ending = ending_at(add_chunk, step, mark, nodes_of(cluster), with_node=False)
        monkeypatch.setattr(storage, "append_to_shard", ending)
        for index in (one, several):
            index.add(eighths(1, 60), list(range(first, first + 60)), delete=index.ids[step::7])
        assert mark.exists(), "nobody was killed"
        assert several.ids == one.ids
    monkeypatch.undo()
    compare(one, several, [query_of(3, 6)], 5, [ms.Certified()])
    check_next_writers(tmp_path / "corpus0", one)


@pytest.mark.parametrize("step", [2, 6, 10])
def test_a_node_that_is_lost_while_it_adds(
    step: int, cluster: Any, sharded: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = eighths(0, 120)
    spare = add_node(cluster)
    one, several = ms.Index.build(documents), sharded(documents, shards=SHARDS)
    ending = ending_at(storage.append_to_shard, step, tmp_path / "mark", [spare.node_id], with_node=True)
    monkeypatch.setattr(storage, "append_to_shard", ending)
    for number in range(10):  # Ray decides when this node gets a task
        for index in (one, several):
            first = 1000 * number
            index.add(eighths(1, 60), list(range(first + 200, first + 260)), delete=index.ids[number::7])
        if (tmp_path / "mark").exists():
            break
    else:
        pytest.fail("nobody was killed")
    monkeypatch.undo()
    cluster.remove_node(spare, allow_graceful=False)
    assert several.ids == one.ids
    compare(one, several, [query_of(3, 6)], 5, [ms.Certified()])
    check_next_writers(tmp_path / "corpus0", one)


@pytest.mark.parametrize("what", ["compact_shard", "delete_from_shard"])
def test_a_worker_that_is_lost_while_it_compacts_or_deletes(
    what: str, cluster: Any, sharded: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = eighths(0, 120)
    one, several = ms.Index.build(documents), sharded(documents, shards=SHARDS)
    ending = ending_at(getattr(folder, what), 3, tmp_path / "mark", nodes_of(cluster), with_node=False)
    monkeypatch.setattr(folder, what, ending)
    for index in (one, several):
        index.delete(list(range(0, 120, 2)))
        index.compact()
    monkeypatch.undo()
    assert (tmp_path / "mark").exists(), "nobody was killed"
    compare(one, several, [query_of(3, 6)], 5, [ms.Certified()])
    check_next_writers(tmp_path / "corpus0", one)


def test_workers_that_are_lost_each_time(
    cluster: Any, sharded: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray gives up: the corpus stays as it was."""
    documents = eighths(0, 60)
    one, several = ms.Index.build(documents), sharded(documents, shards=3)
    generation = several.storage.snapshot.manifest.generation
    ending = ending_at(storage.append_to_shard, 6, tmp_path / "mark", nodes_of(cluster), with_node=False, always=True)
    monkeypatch.setattr(storage, "append_to_shard", ending)
    with pytest.raises(MaxsieveError, match=r"shard \d could not be written"):
        several.add(eighths(1, 30), list(range(200, 230)))
    monkeypatch.undo()
    several.refresh()
    assert (several.ids, several.storage.snapshot.manifest.generation) == (one.ids, generation)
    check_next_writers(tmp_path / "corpus0", one)

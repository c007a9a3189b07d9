"""Indexes, hits and policies in other processes, and copies of them."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import ClosedIndexError, IndexLockedError, MaxsieveError

RNG = np.random.default_rng(5)
DOCUMENTS = [RNG.standard_normal((n, 8)).astype(np.float32) for n in (4, 0, 7, 1, 9) * 20]
QUERY = RNG.standard_normal((3, 8)).astype(np.float32)
RECORDS = [{"n": i} if i % 3 else None for i in range(100)]
FORKED = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
"""Python 3.12 and later warn about threads that other tests have left."""
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
POLICIES = [ms.Certified(), ms.Exhaustive(), ms.Bandit(alpha=0.5, seed=3), ms.Calibrated(overlap=0.9)]


def built(path: Path | None, **options: Any) -> ms.Index:
    index = ms.Index.build(DOCUMENTS, [f"d{i}" for i in range(100)], metadata=RECORDS, path=path, **options)
    index.delete(["d7", "d9"])
    index.calibrate(RNG.standard_normal((20, 3, 8)), k=10)
    return index


def answer(index: ms.Index, policy: Any = None) -> tuple[Any, ...]:
    hits = index.search(QUERY, k=5, policy=policy)
    return hits.ids, hits.scores.tobytes(), hits.report.guarantee, hits.metadata, hits.explain(0)


def first_letter(key: Any) -> str:
    return str(key)[:2]


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> ms.Index:
    return built(tmp_path / "it" if request.param == "disk" else None)


def through_pickle(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


def through_buffers(one: Any) -> Any:
    """As Ray and Dask send it: with arrays outside the pickle, which are read-only where they arrive."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(one, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(each.raw()) for each in buffers])


def through_cloudpickle(one: Any) -> Any:
    return pickle.loads(cloudpickle.dumps(one))


WAYS: list[Callable[[Any], Any]] = [through_pickle, through_buffers, through_cloudpickle, copy.copy, copy.deepcopy]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_an_index_arrives_whole(index: ms.Index, way: Callable[[Any], Any], store: str, tmp_path: Path) -> None:
    if store != "float32":
        index = built(None, store=store)
    other = way(index)
    assert other is not index
    assert other.ids == index.ids
    for policy in POLICIES:
        assert answer(other, policy) == answer(index, policy)


@pytest.mark.parametrize("way", WAYS)
def test_changes_of_a_copy_in_memory_are_its_own(way: Callable[[Any], Any]) -> None:
    index = built(None)
    other = way(index)
    other.add([QUERY], ["new"])
    other.delete(["d0"])
    index.add([QUERY], ["else"])
    assert "new" not in index
    assert "d0" in index
    assert other.search(QUERY, k=1).ids == ["new"]
    assert index.search(QUERY, k=1).ids == ["else"]


def test_a_pickled_index_on_disk_arrives_at_the_newest_version(tmp_path: Path) -> None:
    index = built(tmp_path / "it")
    reader = ms.Index.open(tmp_path / "it")
    sent = pickle.dumps(reader)
    assert len(sent) < 2000  # its name, not its vectors
    copied = copy.deepcopy(reader)
    index.add([QUERY], ["new"])
    index.compact()
    assert "new" not in reader
    assert "new" not in copied  # a copy has the version of its original
    assert answer(copied) == answer(reader)
    arrived = pickle.loads(sent)
    assert "new" in arrived
    copied.refresh()
    assert "new" in copied


def test_another_index_in_its_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    sent = pickle.dumps(built(tmp_path / "it"))
    shutil.rmtree(tmp_path / "it")
    with pytest.raises(FileNotFoundError):
        pickle.loads(sent)
    built(tmp_path / "it")
    with pytest.raises(MaxsieveError, match="another index"):
        pickle.loads(sent)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, through_pickle])
def test_a_copy_is_no_second_writer(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    index = built(tmp_path / "it")

    def docs() -> Any:
        other = way(index)  # while `index` is being written to
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
            other.add([QUERY], ["theirs"])
        yield QUERY

    index.add(docs(), ["ours"])
    assert "ours" in index
    assert "theirs" not in ms.Index.open(tmp_path / "it")
    later = way(index)
    later.add([QUERY], ["later"])
    index.add([QUERY], ["last"])
    assert {"ours", "later", "last"} <= set(index.ids)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])
def test_a_copy_that_is_closed_takes_nothing_with_it(index: ms.Index, way: Callable[[Any], Any]) -> None:
    before = answer(index)
    way(index).close()
    assert answer(index) == before
    other = way(index)
    index.close()
    assert answer(other) == before


def test_what_is_closed_stays(index: ms.Index) -> None:
    index.close()
    for way in WAYS:
        with pytest.raises(ClosedIndexError):
            way(index)


def test_a_state_on_disk_says_what_to_send_instead(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="pickle the index"):
        pickle.dumps(built(tmp_path / "it").storage.snapshot)


@pytest.mark.parametrize("way", WAYS)
def test_group_by_goes_along(way: Callable[[Any], Any]) -> None:
    index = ms.Index.build(DOCUMENTS, [f"{i:03}" for i in range(100)], group_by=first_letter)
    other = way(index)
    assert other.search(QUERY).ids == index.search(QUERY).ids
    assert len(other.search(QUERY)) == 10


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_hits_arrive_with_all_that_can_be_asked(index: ms.Index, way: Callable[[Any], Any], policy: Any) -> None:
    hits = index.search(QUERY, k=5, policy=policy)
    report = copy.deepcopy(hits.report)
    other = way(index.search(QUERY, k=5, policy=policy))
    index.close()
    assert list(other) == list(hits)
    assert len(other) == 5
    assert other.metadata == [RECORDS[int(one[1:])] for one in hits.ids]
    assert [other.explain(rank) for rank in range(5)] == [hits.explain(rank) for rank in range(5)]
    found = other.report
    assert (found.guarantee, found.coverage, found.rescored, found.rounds, found.calibrated_on) == (
        report.guarantee, report.coverage, report.rescored, report.rounds, report.calibrated_on,
    )  # fmt: skip
    assert repr(other) == repr(hits)
    again = through_pickle(copy.deepcopy(other))
    assert list(again) == list(hits)
    assert again.explain(2) == hits.explain(2)
    with pytest.raises(ValueError, match=r"^rank"):
        again.explain(5)


def test_received_hits_have_no_snapshot() -> None:
    hits = through_pickle(built(None).search(QUERY))
    with pytest.raises(AttributeError, match=r"'_snapshot'.*pickled"):
        hits._snapshot
    assert not hasattr(hits, "nothing")


def test_pickled_hits_are_small() -> None:
    big = ms.Index.build(RNG.standard_normal((50_000, 32)), lengths=[50] * 1000)
    assert len(pickle.dumps(big.search(np.ones((32, 32)), k=10))) < 20_000
    assert len(pickle.dumps(big)) > 50_000 * 32


def test_a_copy_of_hits_has_lists_of_its_own(index: ms.Index) -> None:
    hits = index.search(QUERY, k=5)
    for way in (copy.copy, copy.deepcopy):
        other = way(hits)
        other.ids.clear()
        other.scores[:] = 0
        assert len(hits.ids) == 5
        assert hits.scores.all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies(way: Callable[[Any], Any], policy: Any) -> None:
    assert way(policy) == policy


def search(index: ms.Index, query: Any, *, change: bool = False) -> ms.Hits:
    if change:
        index.add([query], ["new"])
    return index.search(query, k=5)


@FORKED
@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=FORKS)])
def test_multiprocessing(index: ms.Index, method: str) -> None:
    queries = [doc[:2] for doc in DOCUMENTS if len(doc) > 2][:6]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap(search, [(index, query) for query in queries])
    for hits, query in zip(found, queries, strict=True):
        here = index.search(query, k=5)
        assert list(hits) == list(here)
        assert hits.metadata == here.metadata
        assert hits.explain(0) == here.explain(0)


@FORKED
@FORKS
def test_a_process_that_was_forked_uses_what_it_inherited(index: ms.Index) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=lambda: answers.put(answer(index)))
    child.start()
    found = answers.get(timeout=60)
    child.join(60)
    assert found == answer(index)


def test_joblib(index: ms.Index, tmp_path: Path) -> None:
    """With arrays that joblib maps for its workers, read-only."""
    parallel = joblib.Parallel(n_jobs=2, max_nbytes=100)
    found = parallel(joblib.delayed(search)(index, query) for query in [QUERY] * 4)
    assert [list(hits) for hits in found] == [list(index.search(QUERY, k=5))] * 4
    changed = parallel([joblib.delayed(search)(index, QUERY, change=True)])
    assert changed[0].ids[0] == "new"
    index.refresh()
    assert ("new" in index) == (tmp_path / "it").exists()  # in memory, the worker had an index of its own


def test_anything_else_of_a_hit_is_plain() -> None:
    hits = built(None).search(QUERY)
    for one in (hits.report, hits.report.rounds, hits.explain(0)):
        assert through_pickle(one) == one

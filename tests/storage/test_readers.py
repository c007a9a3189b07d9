"""One writer, many readers: in other processes, in other threads, across a fork."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.support import Rows, answers, contents, eighths, query_of
from maxsieve.common import locks as locking
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.errors import IndexLockedError

D = 5


def rows_at(i: int, version: int = 0) -> Rows:
    """A document whose number and version can be computed from its score for `ASK`."""
    rows = np.zeros((1 + i % 3, D), np.float32)
    rows[0] = (i, version, 0, 0, 0)
    return rows


ASK = np.array([[1, 0, 0, 0, 0]], np.float32)


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A script in a separate Python that can import what the tests import."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


# Every version has the documents 0..n-1, n a multiple of 500, and perhaps one more, -1, which is never a good hit.
READER = """
import os, sys
import maxsieve as ms
from storage.test_readers import ASK

path, stop = sys.argv[1], sys.argv[2]
index = ms.Index.open(path)
versions, answers, before = set(), 0, 0
print("ready", flush=True)

def check(index):
    ids = index.ids
    n = len(ids) - (-1 in index)
    assert n % 500 == 0 and n >= before, n
    assert ids == [*range(n), -1][: len(index)]
    for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0, block=1)):
        hits = index.search(ASK, 3, policy=policy)
        assert hits.ids == [n - 1, n - 2, n - 3], (n, hits)
        assert hits.scores.tolist() == [n - 1, n - 2, n - 3], (n, hits)
        assert hits.metadata == [{"at": i - i % 500} for i in hits.ids], (n, hits.metadata)
    middle = n // 2
    assert index.search(ASK, 1, candidates=[middle, 0]).ids == [middle]
    assert index.metadata(middle) == {"at": middle - middle % 500}
    assert index.vectors(middle)[0, 0] == middle
    return n

while not os.path.exists(stop) or answers < 5:
    seen = check(index)
    assert check(index) == seen  # whatever the writer has done meanwhile
    versions.add(seen)
    before = seen
    answers += 2
    if answers % 3:
        index.refresh()
    else:
        index = ms.Index.open(path)
index.refresh()
assert check(index) == 10_500
print(len(versions), answers, flush=True)
"""


def test_readers_keep_answering_while_a_writer_adds_10000_documents_and_compacts(tmp_path: Path) -> None:
    path, stop = tmp_path / "index", tmp_path / "stop"
    index = ms.Index.build([rows_at(i) for i in range(500)], metadata=[{"at": 0}] * 500, path=path)
    readers = [start(READER, path, stop) for _ in range(2)]
    assert [said(reader) for reader in readers] == ["ready"] * 2
    try:
        for first in range(500, 10_500, 500):
            docs = (rows_at(i) for i in range(first, first + 500))
            index.add(docs, range(first, first + 500), metadata=[{"at": first}] * 500)
            if first % 2500 == 0:
                index.add([rows_at(7)], [-1])
                index.compact()
                index.delete([-1])
                index.compact()
    finally:
        stop.touch()
        results = [said(reader) for reader in readers]
        codes = [reader.wait(60) for reader in readers]
        for reader in readers:
            reader.communicate()
    assert codes == [0, 0]
    for versions, answered in (map(int, result.split()) for result in results):
        assert versions >= 2
        assert answered >= 5
    index.verify()
    assert index.ids == list(range(10_500))


def test_a_reader_keeps_its_version_after_its_files_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "index"
    docs = eighths(1, 40)
    writer = ms.Index.build(docs, metadata=[{"i": i} for i in range(40)], path=path)
    writer.delete([3, 5])
    reader = ms.Index.open(path)
    before = contents(reader)
    old_files = {one.name for one in path.iterdir()}
    writer.add(docs[:20], range(20), replace=True, metadata=["new"] * 20)
    writer.delete(range(20, 40))
    writer.compact()
    assert LOCK_STAYS or {one.name for one in path.iterdir()} & old_files == {"lock", "manifest.json"}
    assert contents(reader) == before
    assert [reader.metadata(i) for i in reader.ids] == [{"i": i} for i in reader.ids]
    hits = reader.search(query_of(1), 40)
    assert hits.metadata == [{"i": i} for i in hits.ids]
    held = reader.search(query_of(1), 7)
    reader.refresh()
    assert contents(reader) == contents(writer) != before
    assert reader.metadata(4) == "new"
    assert held.metadata == [{"i": i} for i in held.ids]  # an old answer keeps its version
    assert len(held.explain(0)) == 3
    reader.verify()


CHURN = """
import sys
import maxsieve as ms
from storage.test_readers import rows_at

index = ms.Index.open(sys.argv[1])
print("ready", flush=True)
while True:
    for i in range(6):
        index.add([rows_at(i)], [i], metadata=["m"], replace=True)
    index.delete([0])
    index.compact()
"""


def test_opening_never_fails_while_a_writer_works(tmp_path: Path) -> None:
    path = tmp_path / "index"
    ms.Index.build([rows_at(i) for i in range(6)], metadata=["m"] * 6, path=path).close()
    writer = start(CHURN, path)
    try:
        assert said(writer) == "ready"
        end, opened, index, seen = time.monotonic() + 4, 0, ms.Index.open(path), set()
        while time.monotonic() < end:
            with ms.Index.open(path) as fresh:
                assert len(fresh) in (5, 6)
                hits = fresh.search(ASK, 9)
                assert hits.ids == sorted(fresh.ids, reverse=True)
                assert hits.metadata == ["m"] * len(hits)
            index.refresh()
            assert index.search(ASK, 1).ids == [5]
            seen.add(tuple(index.ids))
            opened += 1
        assert opened > 20
        assert len(seen) > 1
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    index = ms.Index.open(path)
    index.verify()
    index.add([rows_at(99)], [99])
    assert index.search(ASK, 1).ids == [99]


# It prints its own id: on Windows, the Python of an environment starts another one, which does the work.
HOLDER = """
import os, sys
import maxsieve as ms
from storage.test_readers import rows_at

def docs():
    yield rows_at(100)
    print("holding", os.getpid(), flush=True)
    sys.stdin.readline()
    yield rows_at(101)

ms.Index.open(sys.argv[1]).add(docs(), [100, 101])
print("done", flush=True)
"""


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = ms.Index.build([rows_at(i) for i in range(5)], path=path)
    holder = start(HOLDER, path)
    holding, number = said(holder).split()
    assert holding == "holding"
    before = contents(index)
    changes: tuple[Callable[[], object], ...] = (
        lambda: index.add([rows_at(6)], [6]),
        lambda: index.delete(1),
        index.compact,
        lambda: ms.Index.open(path).delete([1]),
    )
    for change in changes:
        with pytest.raises(IndexLockedError, match=f"process {number}$") as caught:
            change()
        assert str(path) in str(caught.value)
    index.refresh()
    index.verify()
    assert contents(index) == contents(ms.Index.open(path)) == before
    tell(holder, "go on")
    assert said(holder) == "done"
    assert holder.wait(30) == 0
    holder.communicate()
    index.delete(1)  # sees the two new documents, too
    assert index.ids == [0, 2, 3, 4, 100, 101]


def test_a_killed_writer_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = ms.Index.build([rows_at(i) for i in range(5)], path=path)
    holder = start(HOLDER, path)
    assert said(holder).startswith("holding")
    holder.kill()
    holder.communicate()
    index.add([rows_at(5)], [5])
    assert index.ids == [0, 1, 2, 3, 4, 5]
    assert sorted(one.suffix for one in path.iterdir() if one.suffix != ".segment") == ["", ".json"]


def test_two_openings_in_one_process(tmp_path: Path) -> None:
    path = tmp_path / "index"
    docs = eighths(2, 12)
    one = ms.Index.build(docs[:4], path=path)
    other = ms.Index.open(path)
    one.add(docs[4:6], [4, 5])
    assert len(other) == 4
    other.add(docs[6:8], [6, 7])  # its version is old: it first reads the change of the other
    assert other.ids == list(range(8))
    one.delete(7)
    with pytest.raises(ValueError, match=r"^ids: 6\b"):
        one.add([docs[6]], [6])
    one.add([docs[7]], [7])
    other.compact()
    assert other.ids == list(range(8))
    one.refresh()
    assert contents(one) == contents(other) == contents(ms.Index.build(docs[:8]))

    def taken() -> Any:
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
            other.delete(0)
        yield docs[8]

    one.add(taken(), [8])
    other.delete(0)
    assert other.ids == list(range(1, 9))


def test_threads_of_one_index_take_turns(tmp_path: Path) -> None:
    index = ms.Index.create(D, path=tmp_path / "index")
    problems: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for i in range(8):
                index.add([rows_at(thread), rows_at(i)], [f"{thread} {i}", f"{thread} {i} gone"])
                index.delete([f"{thread} {i} gone"])
                if i % 4 == 3:
                    index.compact()
                    index.refresh()
                assert index.vectors(f"{thread} {i}")[0, 0] == thread
                index.search(ASK, 3)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert sorted(index.ids) == sorted(f"{thread} {i}" for thread in range(4) for i in range(8))
    for number in range(4):
        mine = [one for one in index.ids if str(one).startswith(f"{number} ")]
        assert mine == [f"{number} {i}" for i in range(8)]
    index.verify()


def test_a_generator_that_writes_to_its_own_index_gets_an_error_not_a_deadlock(tmp_path: Path) -> None:
    index = ms.Index.build([rows_at(i) for i in range(5)], path=tmp_path / "index")
    before = contents(index)

    def nested() -> Any:
        yield rows_at(7)
        index.add([rows_at(9)], [9])

    with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
        index.add(nested(), [7, 8])
    assert contents(index) == before

    def reading() -> Any:
        index.refresh()
        yield 2 * index.vectors(2)
        index.verify()
        yield index.vectors(index.search(ASK, 1).ids[0])

    index.add(reading(), [7, 8])
    assert index.ids == [0, 1, 2, 3, 4, 7, 8]
    assert index.vectors(8).tolist() == rows_at(4).tolist()


def test_a_generator_that_closes_its_own_index_loses_nothing(tmp_path: Path) -> None:
    index = ms.Index.build([rows_at(i) for i in range(5)], path=tmp_path / "index")

    def closing() -> Any:
        index.close()
        yield rows_at(7)

    with pytest.raises(ms.errors.ClosedIndexError):
        index.add(closing(), [7])
    again = ms.Index.open(tmp_path / "index")
    again.verify()
    assert again.ids == [0, 1, 2, 3, 4]
    assert len(list((tmp_path / "index").iterdir())) == 3


def _answers(index: ms.Index, pipe: Any) -> None:
    pipe.send((answers(index), [index.metadata(one) for one in index.ids]))
    index.add([rows_at(50)], [50])
    pipe.send(index.ids)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_searches_and_writes(tmp_path: Path) -> None:
    index = ms.Index.build(eighths(3, 30), metadata=[str(i) for i in range(30)], path=tmp_path / "index")
    index.delete(range(0, 30, 4))
    wanted = answers(index), [index.metadata(one) for one in index.ids]
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    child = context.Process(target=_answers, args=(index, theirs))
    child.start()
    theirs.close()
    assert mine.recv() == wanted
    assert (answers(index), [index.metadata(one) for one in index.ids]) == wanted
    ids = mine.recv()
    child.join(30)
    assert child.exitcode == 0
    index.refresh()
    assert index.ids == ids
    assert 50 in ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_during_a_change_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A generator may start a pool of workers that exists longer than the change."""
    index = ms.Index.create(D, path=tmp_path / "index")
    context = multiprocessing.get_context("fork")
    workers = []

    def docs() -> Any:
        workers.append(context.Process(target=time.sleep, args=(60,)))
        workers[-1].start()
        yield rows_at(1)

    try:
        index.add(docs(), [1])
        assert workers[0].is_alive()
        index.add([rows_at(2)], [2])
    finally:
        workers[0].kill()
        workers[0].join()
    assert index.ids == [1, 2]


@pytest.mark.skipif(LOCK_STAYS, reason="nothing forks there")
def test_a_child_that_has_not_run_yet_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Right after a fork, the child still has a copy of the handle."""
    index = ms.Index.create(D, path=tmp_path / "index")
    copies = []

    def docs() -> Any:
        copies.extend(os.dup(handle) for handle in locking._held)
        yield rows_at(1)

    try:
        index.add(docs(), [1])
        assert copies
        index.add([rows_at(2)], [2])
    finally:
        for copy in copies:
            os.close(copy)
    assert index.ids == [1, 2]


@pytest.mark.skipif(LOCK_STAYS, reason="files of an open index can't be removed")
def test_another_index_at_the_same_place_is_not_taken_for_the_first(tmp_path: Path) -> None:
    path = tmp_path / "index"
    reader = ms.Index.build([rows_at(1), rows_at(2)], path=path)
    before = contents(reader)
    for one in path.iterdir():
        one.unlink()
    ms.Index.build([rows_at(4), rows_at(2)], path=path)
    for change in (reader.refresh, lambda: reader.delete(0)):
        with pytest.raises(ms.errors.MaxsieveError, match="another index"):
            change()
    assert contents(reader) == before
    assert ms.Index.open(path).search(ASK, 1).scores.tolist() == [4]

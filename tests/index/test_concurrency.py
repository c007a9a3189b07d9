"""Threads that search while others change the index, processes that fork, and the GIL."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import ClosedIndexError

from .support import POLICIES, Rows, answer, bits, eighths, expected, query_of, run_script


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Python switches threads a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def meanwhile(*work: Callable[[threading.Event], Any]) -> Iterator[list[Future[Any]]]:
    """Runs functions in threads during the body. They get an event, which is set after the body, and then end."""
    over = threading.Event()
    with frequent_switches(), ThreadPoolExecutor(len(work)) as pool:
        running = [pool.submit(one, over) for one in work]
        try:
            yield running
        finally:
            over.set()
        for one in running:
            one.result()


def token(value: float) -> Rows:
    return np.array([[value, 1.0]], np.float32)


class Story:
    """A sequence of changes, and what each state between them answers. No two states have the same answers."""

    def __init__(self, steps: int) -> None:
        self.first = {one: token(0) for one in range(4)}
        self.changes: list[Callable[[ms.Index], None]] = []
        self.states: list[dict[int, Rows]] = [dict(self.first)]
        rng = np.random.default_rng(steps)
        for step in range(1, steps + 1):
            state = dict(self.states[-1])
            kind = rng.integers(0, 5)
            if kind <= 1:  # two at once: a half of them would be noticed
                new = {1000 + 2 * step: token(step), 1001 + 2 * step: token(step)}
                self.changes.append(lambda index, new=new: index.add(list(new.values()), list(new)))
                state.update(new)
            elif kind == 2:
                new = {one: token(step) for one in list(state)[:3]}
                self.changes.append(lambda index, new=new: index.add(iter(new.values()), list(new), replace=True))
                for one in new:
                    del state[one]
                state.update(new)
            elif kind == 3 and len(state) > 4:
                gone = list(state)[1:3]
                self.changes.append(lambda index, gone=gone: index.delete(gone))
                for one in gone:
                    del state[one]
            else:
                self.changes.append(lambda index: index.compact())
            self.states.append(state)
        self.query = token(1)
        self.want = [expected(self.query, state, 99) for state in self.states]
        self.ids = [list(state) for state in self.states]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_search_sees_a_state_before_or_after(policy: Any) -> None:
    story = Story(250)
    index = ms.Index.create(2)
    index.add(list(story.first.values()), list(story.first))
    done = 0
    problems: list[str] = []
    searches = [0] * 3

    def check(number: int, over: threading.Event) -> None:
        while not over.is_set():
            before = done
            seen: Any
            if number == 0:
                hits = index.search(story.query, 99, policy=policy)
                seen, want = bits(hits), story.want
                if hits.explain(0)[0].similarity != hits.scores[0]:
                    problems.append("an explanation of another state")
            elif number == 1:
                many = index.search_many([story.query] * 3, 99, policy=policy)
                if any(answer(hits) != answer(many[0]) for hits in many):
                    problems.append("queries of one batch saw different states")
                seen, want = bits(many[0]), story.want
            else:
                seen, want = index.ids, story.ids
            after = done
            if seen not in want[before : after + 2]:
                problems.append(f"between states {before} and {after + 1}: {seen}")
                return
            searches[number] += 1

    with meanwhile(*(partial(check, number) for number in range(3))) as running:
        for change in story.changes:
            change(index)
            done += 1
            if done % 25 == 0:  # all have searched since the last time
                seen = list(searches)
                while not problems and any(now == then for now, then in zip(searches, seen, strict=True)):
                    time.sleep(0.001)
                    if any(one.done() for one in running):
                        break
    assert not problems, problems[0]
    assert min(searches) >= 10, searches
    assert bits(index.search(story.query, 99)) == story.want[-1]


def test_candidates_and_masks_while_documents_move() -> None:
    """Ids that always exist can always be asked for, although compaction moves them."""
    stable = {one: token(one) for one in range(10)}
    index = ms.Index.create(2)
    for one, rows in stable.items():
        index.add([rows, token(99)], [one, 100 + one])
    want = expected(token(1), stable, 99)

    def check(over: threading.Event) -> int:
        rounds = 0
        while not over.is_set():
            assert bits(index.search(token(1), 99, candidates=list(stable))) == want
            assert index.vectors(7).tolist() == [[7, 1]]
            assert 7 in index
            assert 5000 not in index
            rounds += 1
        return rounds

    with meanwhile(check, check) as running:
        for step in range(150):
            index.delete(100 + step % 10)
            index.compact()
            index.add([token(99), token(step)], [100 + step % 10, 1000 + step])
    assert all(one.result() > 5 for one in running)


def test_ids_come_and_go_together() -> None:
    index = ms.Index.create(2)
    many = list(range(2000))
    phase = 0  # 1: they are added, 3: they are deleted

    def check(over: threading.Event) -> int:
        rounds = 0
        while not over.is_set():
            before = phase
            first, last = 0 in index, 1999 in index
            if phase == before and before % 4 in (1, 3):
                assert (first, last) != ((True, False) if before % 4 == 1 else (False, True)), "half of a change"
                rounds += 1
        return rounds

    with meanwhile(check) as running:
        for _ in range(30):
            for change in (lambda: index.add(np.ones((2000, 1, 2)), many), lambda: index.delete(many)):
                phase += 1
                change()
                phase += 1
    assert running[0].result() > 0


def test_writers_take_turns() -> None:
    index = ms.Index.create(2)

    def write(writer: int) -> None:
        for step in range(40):
            one = 1000 * writer + step
            index.add([token(one), token(-one)], [one, -one - 1])
            if step % 3 == 0:
                index.delete(-one - 1)
            if step % 10 == 0:
                index.compact()

    with frequent_switches(), ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    every = [1000 * writer + step for writer in range(4) for step in range(40)]
    left = {one: token(one) for one in every} | {-one - 1: token(-one) for one in every if one % 1000 % 3}
    assert sorted(index.ids) == sorted(left)
    assert len(index) == len(left)
    for one, rows in left.items():
        assert index.vectors(one).tolist() == rows.tolist()
    in_order = {one: left[one] for one in index.ids}
    assert bits(index.search(token(1), 999)) == expected(token(1), in_order, 999)


def test_the_same_id_from_many_threads_is_added_once() -> None:
    for _ in range(20):
        index = ms.Index.create(2)
        barrier = threading.Barrier(4)

        def add(value: int, index: ms.Index = index, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            try:
                index.add([token(value)], ["x"])
            except ValueError:
                return False
            return True

        with frequent_switches(), ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(add, range(4))) == 1
        assert (len(index), index.tokens) == (1, 1)


def test_closing_while_searching() -> None:
    query = query_of(0)
    want = bits(ms.Index.build(eighths(0, 200)).search(query, 5))
    for _ in range(10):
        index = ms.Index.build(eighths(0, 200))
        started = threading.Barrier(4)

        def search(index: ms.Index = index, started: threading.Barrier = started) -> int:
            started.wait()
            for number in range(100_000):
                try:
                    found = bits(index.search(query, 5))
                except ClosedIndexError:
                    return number
                assert found == want
            raise AssertionError("never closed")

        with ThreadPoolExecutor(3) as pool:
            running = [pool.submit(search) for _ in range(3)]
            started.wait()
            time.sleep(0.005)
            index.close()
            assert all(one.result() >= 0 for one in running)


def test_a_long_search_outlives_its_index(isa: str) -> None:
    rng = np.random.default_rng(0)
    index = ms.Index.build(rng.standard_normal((400, 20, 32), np.float32))
    query = rng.standard_normal((8, 32), np.float32)
    want = bits(index.search(query, 5, policy=ms.Exhaustive()))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(index.search_many, [query] * 8, 5, policy=ms.Exhaustive(), threads=2)
        time.sleep(0.005)
        index.close()
        del index
        try:
            many = running.result()
        except ClosedIndexError:
            return
    assert all(bits(hits) == want for hits in many)


@pytest.mark.parametrize("policy", POLICIES)
def test_sixteen_threads_get_the_same_bits(policy: Any, isa: str) -> None:
    rng = np.random.default_rng(1)
    index = ms.Index.build(rng.standard_normal((300, 20, 48), np.float32))
    query = rng.standard_normal((16, 48), np.float32)
    want = answer(index.search(query, 7, policy=policy, threads=1))
    barrier = threading.Barrier(16)

    def search(number: int) -> bool:
        barrier.wait()
        return all(answer(index.search(query, 7, policy=policy, threads=1 + number % 4)) == want for _ in range(4))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(search, range(16)))


def test_other_python_threads_run_during_a_search() -> None:
    rng = np.random.default_rng(2)
    index = ms.Index.build(rng.standard_normal((500, 30, 64), np.float32))
    query = rng.standard_normal((32, 64), np.float32)
    count = 1
    while True:  # as many queries as take some 0.3 seconds
        begin = time.perf_counter()
        index.search_many([query] * count, policy=ms.Exhaustive(), threads=1)
        took = time.perf_counter() - begin
        if took > 0.15:
            break
        count = int(count * max(2, 0.3 / max(took, 1e-3)))
    ticks = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(index.search_many, [query] * count, policy=ms.Exhaustive(), threads=1)
        while not running.done():
            time.sleep(0.001)
            ticks += 1
        running.result()
    assert ticks > 10


FORK = """
import os, sys, threading
import numpy as np
import maxsieve as ms

rng = np.random.default_rng(0)
index = ms.Index.build(rng.standard_normal((300, 40, 64), np.float32), threads=2)
queries = [rng.standard_normal((16, 64), np.float32) for _ in range(4)]

def answers():
    many = index.search_many(queries, 5, threads=2) + [index.search(queries[0], 5, threads=2)]
    return [(hits.ids, hits.scores.tobytes(), hits.report.rescored) for hits in many]

want = answers()
for _ in range(3):
    child = os.fork()
    if child == 0:
        try:
            same = answers() == want
            index.add([np.ones((2, 64))], [1000])
            same = same and 1000 in index and ms.maxsim(queries, [queries[0]], threads=2).shape == (4, 1)
            index.delete(1000)
            index.compact()
            os._exit(0 if same and answers() == want else 1)
        except BaseException as problem:
            print(repr(problem), file=sys.stderr)
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert answers() == want
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("isa", ms.isas())
def test_a_forked_child_searches_too(isa: str) -> None:
    done = run_script(FORK, env={**os.environ, "MAXSIEVE_ISA": isa})
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr

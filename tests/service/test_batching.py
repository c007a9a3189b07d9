"""The batcher compared with a model of it: each request gets the answer to what it asked, exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from maxsieve import Collection
from maxsieve._core import Stop, StoppedError
from maxsieve.options import SearchOptions
from maxsieve.policies import Certified, Exhaustive
from maxsieve.service.batches import Batcher
from maxsieve.service.service import SearchAsk, SearchKey
from maxsieve.text import OnnxEncoder
from service.support import Served

TOGETHER = 3


class ByHand(Executor):
    """An executor that does its work when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: work(*arguments, **options)))
        return future

    def step(self) -> None:
        future, work = self.waiting.pop()
        try:
            future.set_result(work())
        except BaseException as failure:
            future.set_exception(failure)


class BadError(ValueError):
    """A request that can't be done."""


class Batching(RuleBasedStateMachine):
    """Requests come, batches finish, clients disconnect, in any order. A request is (key, number); some are bad."""

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.executor = ByHand()
        self.batches: list[tuple[str, list[int], Stop]] = []
        self.batcher: Batcher[str, int, tuple[str, int]] = Batcher(self.work, self.executor, together=TOGETHER)
        self.tasks: dict[int, tuple[str, bool, asyncio.Task[tuple[str, int]]]] = {}
        self.finished: set[int] = set()
        self.taken: list[int] = []
        self.number = 0

    def work(self, key: str, asks: Sequence[int], stop: Stop) -> list[tuple[str, int]]:
        self.batches.append((key, list(asks), stop))
        if stop.requested:
            raise StoppedError("nobody waits")
        if any(one < 0 for one in asks):
            raise BadError(f"{min(asks)} is bad")
        return [(key, one) for one in asks]

    def settle(self) -> None:
        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    @rule(key=st.sampled_from("abc"), bad=st.booleans(), count=st.integers(1, 5))
    def come(self, key: str, bad: bool, count: int) -> None:
        for place in range(count):
            self.number += 1
            ask = -self.number if bad and place == 0 else self.number
            task = self.loop.create_task(self.batcher.ask(key, ask))
            self.tasks[self.number] = key, ask < 0, task
        self.settle()

    @precondition(lambda self: self.executor.waiting)
    @rule()
    def finish(self) -> None:
        assert len(self.executor.waiting) == 1  # one batch at a time
        before = len(self.batches)
        self.executor.step()
        self.settle()
        key, asks, _ = self.batches[before]
        assert len(asks) <= TOGETHER
        numbers = [abs(one) for one in asks]
        assert not set(numbers) & set(self.taken)  # each is in one batch only
        self.taken += numbers
        assert numbers == sorted(numbers)
        assert all(self.tasks[one][0] == key for one in numbers)

    @precondition(lambda self: any(not task.done() for *_, task in self.tasks.values()))
    @rule(data=st.data())
    def hang_up(self, data: st.DataObject) -> None:
        waiting = [one for one, (*_, task) in self.tasks.items() if not task.done()]
        self.tasks[data.draw(st.sampled_from(waiting))][2].cancel()
        self.settle()

    @invariant()
    def every_answer_is_its_own(self) -> None:
        for one, (key, bad, task) in getattr(self, "tasks", {}).items():
            if not task.done() or task.cancelled():
                continue
            self.finished.add(one)
            if bad:
                with pytest.raises(BadError, match=f"^-{one} is bad$"):
                    task.result()
            else:
                assert task.result() == (key, one)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        if not hasattr(self, "batcher"):
            return
        waiting = [one for one, (*_, task) in self.tasks.items() if not task.done()]
        if waiting:
            assert self.executor.waiting
        assert self.batcher.waiting <= len(waiting)

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        while self.executor.waiting:
            self.finish()
        self.every_answer_is_its_own()
        assert all(task.done() for *_, task in self.tasks.values())
        assert self.batcher.waiting == 0
        answered = {one for one, (*_, task) in self.tasks.items() if not task.cancelled()}
        assert answered == self.finished
        self.loop.close()


TestBatching = Batching.TestCase
TestBatching.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_group_that_nobody_waits_for_is_stopped() -> None:
    executor = ByHand()
    stops: list[Stop] = []

    def work(key: str, asks: Sequence[int], stop: Stop) -> list[int]:
        stops.append(stop)
        return list(asks)

    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(work, executor, together=8)
        asks = [asyncio.ensure_future(batcher.ask("key", one)) for one in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        executor.step()  # the first was processed alone
        await asyncio.gather(asks[0])
        [(_, waiting)] = executor.waiting
        asks[1].cancel()
        await asyncio.sleep(0)
        executor.waiting = [(Future(), waiting)]
        executor.step()
        assert not stops[-1].requested  # one of two still waits
        asks[2].cancel()
        await asyncio.sleep(0)
        assert stops[-1].requested
        await asyncio.gather(*asks, return_exceptions=True)

    asyncio.run(scenario())


QUERIES = ["river", "owl", "the tea", "a mountain path", "red", "blue bread", "fox and owl", "path"]


def test_requests_at_the_same_time_get_what_each_gets_alone(shared: Served) -> None:
    import threading

    answers: dict[int, Any] = {}
    barrier = threading.Barrier(16)

    def ask(number: int) -> None:
        barrier.wait()
        for turn in range(5):
            query = QUERIES[(number + turn) % len(QUERIES)]
            policy = "exhaustive" if number % 3 == 0 else "certified"
            answers[number * 5 + turn] = query, policy, shared.search(query=query, k=1 + number % 2, policy=policy)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 80
    with Collection.open(shared.service.shelf["docs"].path, shared.service.encoder) as alone:
        for number, (query, policy, answer) in answers.items():
            chosen = Exhaustive() if policy == "exhaustive" else Certified()
            expected = alone.search(query, 1 + number // 5 % 2, policy=chosen)
            body = answer.json()
            assert [(hit["id"], hit["score"]) for hit in body["hits"]] == list(expected)
            assert body["query"]["text"] == query
            assert body["report"]["rescored"] == expected.report.rescored


def test_a_search_that_nobody_waits_for_ends_in_the_engine(shared: Served, encoder: OnnxEncoder) -> None:
    key = SearchKey("docs", "", SearchOptions(3, Certified()))
    [rows] = encoder.encode_queries(["river"])
    stop = Stop()
    [found] = shared.service._search(key, [SearchAsk("river", rows, None)], stop)
    assert len(found.hits) == 3
    stop.request()
    with pytest.raises(StoppedError):
        shared.service._search(key, [SearchAsk("river", rows, None)], stop)

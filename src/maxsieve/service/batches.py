"""Dynamic batching: requests that arrive while others are processed are processed together afterwards."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from time import perf_counter
from typing import Generic, TypeVar

from maxsieve._core import Stop, StoppedError

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
Key = TypeVar("Key", bound=Hashable)


class Waiting(Generic[Ask, Answer]):
    """A request, and the future of its answer."""

    def __init__(self, ask: Ask, answer: asyncio.Future[Answer]) -> None:
        self.ask, self.answer = ask, answer
        self.batch: BatchOfRequests[Ask, Answer] | None = None


class BatchOfRequests(Generic[Ask, Answer]):
    """Requests that are processed together. The work is stopped when nobody waits for it any more."""

    def __init__(self, members: list[Waiting[Ask, Answer]]) -> None:
        self.members, self.stop = members, Stop()
        for one in members:
            one.batch = self

    def left(self) -> None:
        """A member has stopped waiting."""
        if all(one.answer.done() for one in self.members):
            self.stop.request()


class Batcher(Generic[Key, Ask, Answer]):
    """Processes one batch at a time: up to ``together`` waiting requests of the key that has waited longest.

    ``work`` answers a batch, on a thread of ``executor``. If it fails for a batch of several requests, it is called for
    each of them alone, so that none gets another's error. A request that is cancelled while it waits is removed; a
    batch that nobody waits for is stopped. All methods must be called from one event loop.
    """

    def __init__(
        self,
        work: Callable[[Key, Sequence[Ask], Stop], Sequence[Answer]],
        executor: Executor,
        *,
        together: int,
        watch: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._work, self._executor, self._together, self._watch = work, executor, together, watch
        self._queues: dict[Key, deque[Waiting[Ask, Answer]]] = {}
        self._running: BatchOfRequests[Ask, Answer] | None = None

    @property
    def waiting(self) -> int:
        """How many requests are not in a batch yet."""
        return sum(map(len, self._queues.values()))

    async def ask(self, key: Key, ask: Ask) -> Answer:
        """The answer to a request, which is processed together with others of the same key."""
        waiting: Waiting[Ask, Answer] = Waiting(ask, asyncio.get_running_loop().create_future())
        self._queues.setdefault(key, deque()).append(waiting)
        self._begin()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            self._forget(key, waiting)
            raise

    def _forget(self, key: Key, waiting: Waiting[Ask, Answer]) -> None:
        if waiting.batch is not None:
            waiting.batch.left()
            return
        queue = self._queues[key]
        queue.remove(waiting)
        if not queue:
            del self._queues[key]

    def _begin(self) -> None:
        if self._running is not None or not self._queues:
            return
        key = next(iter(self._queues))
        queue = self._queues.pop(key)
        batch = BatchOfRequests([queue.popleft() for _ in range(min(len(queue), self._together))])
        if queue:
            self._queues[key] = queue  # at the end of the line
        self._running = batch
        started = perf_counter()
        asks = [one.ask for one in batch.members]
        outcomes = asyncio.get_running_loop().run_in_executor(self._executor, self._outcomes, key, asks, batch.stop)
        outcomes.add_done_callback(lambda done: self._finish(batch, done, perf_counter() - started))

    def _finish(
        self,
        batch: BatchOfRequests[Ask, Answer],
        done: asyncio.Future[Sequence[Answer | BaseException]],
        seconds: float,
    ) -> None:
        self._running = None
        failure = None if done.cancelled() else done.exception()
        if done.cancelled() or failure is not None:
            outcomes: Sequence[Answer | BaseException] = [failure or asyncio.CancelledError()] * len(batch.members)
        else:
            outcomes = done.result()
        for one, outcome in zip(batch.members, outcomes, strict=True):
            if one.answer.done():
                continue
            if isinstance(outcome, BaseException):
                one.answer.set_exception(outcome)
            else:
                one.answer.set_result(outcome)
        self._watch(len(batch.members), seconds)
        # they refer to each other: answers would stay in memory, with their files, until Python looks for such cycles
        batch.members.clear()
        self._begin()

    def _outcomes(self, key: Key, asks: Sequence[Ask], stop: Stop) -> Sequence[Answer | BaseException]:
        """Runs on a thread: the answer or the error of each request."""
        try:
            return self._work(key, asks, stop)
        except StoppedError:
            raise
        except Exception as failure:
            if len(asks) == 1:
                return [failure]
        return [self._outcomes(key, [one], stop)[0] for one in asks]

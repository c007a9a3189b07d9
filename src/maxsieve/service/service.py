"""State that all requests share: the collections, the encoder, the worker threads, and the limits on the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from fastapi import Depends, HTTPException
from numpy.typing import NDArray
from starlette.requests import Request

from maxsieve._core import Stop
from maxsieve.errors import MaxsieveError
from maxsieve.options import SearchOptions
from maxsieve.service.batches import Batcher
from maxsieve.service.bodies import wrong_dim
from maxsieve.service.metrics import Metrics
from maxsieve.service.open_collections import OpenCollections
from maxsieve.service.settings import CHUNK, LONG_QUERY, LONG_QUERY_TOKENS, MANY_HITS, TOGETHER, Settings
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.query_log import QueryLog
from maxsieve.text.encoders.encoder import Encoder

logger = logging.getLogger("maxsieve.service")

T = TypeVar("T")
F32 = NDArray[np.float32]

BEGUN = "maxsieve.begun"
"""The key in a request's scope of the time when its body was complete. Its deadline is counted from then on."""

RERANKING = ""
"""Used in place of a collection's name when texts are encoded for reranking."""


class EncodedTexts(NamedTuple):
    """Token vectors, and the encoder that made them."""

    vectors: list[F32]
    encoder: Encoder


@dataclass(frozen=True)
class SearchKey:
    """Searches with equal keys can be done together: ``group`` is equal for requests with the same options."""

    collection: str
    group: Hashable
    options: SearchOptions = field(compare=False)


class SearchAsk(NamedTuple):
    """A query: its text (empty if it was sent as vectors), and its vectors with the encoder that made them."""

    text: str
    rows: F32
    encoder: Encoder | None


class Found(NamedTuple):
    """Hits, and how many requests were answered together with this one."""

    hits: TextHits
    together: int


class Service:
    """The state of the server.

    It has threads: one reads large bodies and formats large answers, one encodes, one searches, one writes, two format
    other answers, and one looks after the health of the collections, so that it never waits for the others.
    """

    def __init__(self, collections: OpenCollections, encoder: Encoder, settings: Settings) -> None:
        self.collections, self.encoder, self.settings = collections, encoder, settings
        self.metrics = Metrics(collections, self.requests_in_progress)
        self.ending = False
        self._logs: dict[str, QueryLog] = {}
        if settings.log_queries:
            with ExitStack() as undo:
                for name, opened in collections.items():
                    self._logs[name] = QueryLog(opened.path)
                    undo.callback(self._logs[name].close)
                undo.pop_all()
        self._requests = self._bytes = 0
        self._encoder_thread = ThreadPoolExecutor(1, "encoding")
        self._search_thread = ThreadPoolExecutor(1, "searching")
        self._write_thread = ThreadPoolExecutor(1, "writing")
        self._others = ThreadPoolExecutor(2, "answering")
        self._large_thread = ThreadPoolExecutor(1, "large")
        self._health_thread = ThreadPoolExecutor(1, "health")
        watch = self.metrics.group
        # queues that share a thread take turns, so that large requests do not delay small ones
        self._queries, self._long_queries = (
            Batcher[str, list[str], EncodedTexts](
                partial(self._encode, queries=True),
                self._encoder_thread,
                together=together,
                watch=partial(watch, "encoding queries"),
            )
            for together in (TOGETHER, 1)
        )
        self._passages: Batcher[str, list[str], EncodedTexts] = Batcher(
            partial(self._encode, queries=False),
            self._encoder_thread,
            together=TOGETHER // CHUNK,
            watch=partial(watch, "encoding documents"),
        )
        self._searches, self._large_searches = (
            Batcher[SearchKey, SearchAsk, Found](
                self._search, self._search_thread, together=together, watch=partial(watch, "searching")
            )
            for together in (TOGETHER, 1)
        )
        self._writing: Batcher[None, Callable[[], Any], Any] = Batcher(
            lambda _, works, stop: [work() for work in works], self._write_thread, together=1
        )

    def close(self) -> None:
        """Stops the threads and closes the collections, after the last request."""
        threads = (self._encoder_thread, self._search_thread, self._write_thread, self._others)
        for one in (*threads, self._large_thread, self._health_thread):
            one.shutdown(cancel_futures=True)
        for log in self._logs.values():
            _written(log.close)
        self.collections.close()

    def requests_in_progress(self) -> int:
        """How many admitted requests are not answered yet."""
        return self._requests

    @contextmanager
    def admitted(self, size: int) -> Iterator[None]:
        """Counts a request and the bytes of its body; refuses it if there are too many at a time."""
        full = self._requests >= self.settings.waiting or self._bytes + size > self.settings.waiting_bytes
        if full:
            self.metrics.refused.inc()
            raise HTTPException(429, "too many requests at a time; try again in a moment", {"Retry-After": "1"})
        self._requests += 1
        self._bytes += size
        try:
            yield
        finally:
            self._requests -= 1
            self._bytes -= size

    async def encode(self, collection: str, texts: Sequence[str], *, queries: bool) -> EncodedTexts:
        """Token vectors of texts, a few at a time, so that other requests get their turn."""
        vectors: list[F32] = []
        batcher = self._passages
        if queries:
            batcher = self._queries if sum(map(len, texts)) <= LONG_QUERY else self._long_queries
        for start in range(0, len(texts), CHUNK):
            some = await batcher.ask(collection, list(texts[start : start + CHUNK]))
            vectors += some.vectors
        return EncodedTexts(vectors, some.encoder)

    async def search(self, key: SearchKey, ask: SearchAsk) -> Found:
        """The hits for a query."""
        options = key.options
        small = (
            len(ask.rows) <= LONG_QUERY_TOKENS and options.k * options.per_document <= MANY_HITS and not options.trace
        )
        return await (self._searches if small else self._large_searches).ask(key, ask)

    def log_query(self, collection: str, options: SearchOptions, text: str) -> None:
        """Takes a query into the sample of its collection, if the service keeps one.

        A sample is for calibrating, so only searches of all documents, by late interaction alone, count.
        """
        log = self._logs.get(collection)
        plain = not options.restricted and options.first_stage is None and options.hybrid is None
        if log is not None and plain and log.take(text):
            self._others.submit(_written, log.write)

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Runs work on another thread, so that the event loop is not blocked. If nobody waits for it, it is stopped."""
        return await _stoppable(self._others, work)

    async def run_large(self, work: Callable[[], T]) -> T:
        """Runs large work, such as reading a large body: one at a time, so that small requests never wait for it."""
        return await _stoppable(self._large_thread, work)

    async def examine(self, work: Callable[[], T]) -> T:
        """Looks after the health of the service."""
        return await _stoppable(self._health_thread, work)

    async def write(self, work: Callable[[], T]) -> T:
        """Runs a change of a collection, one at a time. A change that has started is always finished."""
        answer: T = await self._writing.ask(None, work)
        return answer

    def _encoder_of(self, collection: str) -> Encoder:
        if collection == RERANKING:
            return self.encoder
        with self.collections[collection].using() as found:
            return found.encoder

    def _encode(self, collection: str, asks: Sequence[list[str]], stop: Stop, *, queries: bool) -> list[EncodedTexts]:
        encoder = self._encoder_of(collection)
        texts = [text for ask in asks for text in ask]
        vectors = iter(encoder.encode_queries(texts) if queries else encoder.encode_documents(texts))
        return [EncodedTexts([next(vectors) for _ in ask], encoder) for ask in asks]

    def _search(self, key: SearchKey, asks: Sequence[SearchAsk], stop: Stop) -> list[Found]:
        with self.collections[key.collection].using() as collection:
            return self._search_in(collection, key, asks, stop)

    def _search_in(self, collection: Collection, key: SearchKey, asks: Sequence[SearchAsk], stop: Stop) -> list[Found]:
        encoder = collection.encoder
        # a projection may have been fitted, or the collection been replaced, since the texts were encoded
        if wrong := next((ask for ask in asks if not ask.encoder and ask.rows.shape[1] != collection.index.dim), None):
            raise ValueError(wrong_dim(collection.index.dim, wrong.rows.shape[1]))
        vectors = [
            ask.rows if ask.encoder in (None, encoder) else encoder.encode_queries([ask.text])[0] for ask in asks
        ]
        with stop:
            found = collection.answer([ask.text for ask in asks], key.options, vectors)
        return [Found(hits, len(asks)) for hits in found]


def _written(write: Callable[[], None]) -> None:
    """Writes a sample of queries. The service goes on without it."""
    try:
        write()
    except (MaxsieveError, OSError) as problem:
        logger.warning("the sample of queries was not written: %s", problem)


async def _stoppable(executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    stop = Stop()

    def watched() -> T:
        with stop:
            return work()

    try:
        return await asyncio.get_running_loop().run_in_executor(executor, watched)
    finally:
        stop.request()


async def cancelled_on_disconnect(request: Request, work: Awaitable[T], seconds: float) -> T:
    """Awaits the work; cancels it if the client disconnects or the time is over."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    left = seconds - (perf_counter() - request.scope.get(BEGUN, perf_counter()))
    try:
        await asyncio.wait({task, gone}, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        given_up = service_of(request).metrics.given_up
        if gone.done():
            given_up.labels("hung up").inc()
            raise HTTPException(499, "the client has disconnected")
        given_up.labels("too late").inc()
        raise too_late(seconds)
    finally:
        gone.cancel()
        task.cancel()


def too_late(seconds: float) -> HTTPException:
    """The error of a request whose time is over."""
    return HTTPException(504, f"there was no answer within {seconds:g} seconds")


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def service_of(request: Request) -> Service:
    """The service of a request."""
    service: Any = request.app.state.service
    assert isinstance(service, Service)
    return service


async def _service(request: Request) -> Service:
    # FastAPI calls a function that is not async on threads of its own
    return service_of(request)


ServiceDep = Annotated[Service, Depends(_service)]
"""The service, as a dependency of routes."""

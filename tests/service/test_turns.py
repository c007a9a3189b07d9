"""Large requests never delay small ones for long: they are refused early, and have queues of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maxsieve import Collection
from maxsieve.service import search_routes
from maxsieve.service.service import Service
from maxsieve.service.settings import LONG_QUERY, LONG_QUERY_TOKENS, MANY_HITS
from maxsieve.text import OnnxEncoder
from service.support import PATIENCE, GatedEncoder, Served, detail, serving, until

WORD = "river "
LONG = WORD * (LONG_QUERY // len(WORD) + 1)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were to be encoded. When one is listed, it is in its queue before the event loop goes on."""
    texts: list[str] = []
    encode = Service.encode

    async def spy(self: Service, collection: str, given: Any, *, queries: bool) -> Any:
        texts.extend(given)
        return await encode(self, collection, given, queries=queries)

    monkeypatch.setattr(Service, "encode", spy)
    return texts


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The searches that were asked for, likewise."""
    asked: list[Any] = []
    search = Service.search

    async def spy(self: Service, key: Any, ask: Any) -> Any:
        asked.append(ask)
        return await search(self, key, ask)

    monkeypatch.setattr(Service, "search", spy)
    return asked


def test_too_many_tokens_are_refused_before_they_are_encoded(
    shared: Served, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = shared.search(query=WORD * 129, trace=True)
    assert traced.status_code == 400
    assert "this one has 129" in detail(traced)
    monkeypatch.setattr(search_routes, "MATCHES", 20)
    listed = shared.search(query=WORD * 9, k=3)
    assert listed.status_code == 400
    assert "3 hits for 9 tokens" in detail(listed)
    assert encoded == []
    assert shared.search(query=WORD * 9, k=3, matches=False).status_code == 200
    assert shared.search(query=WORD * 9, k=2).status_code == 200
    assert len(encoded) == 2


@pytest.fixture
def gated(encoder: OnnxEncoder, docs: Path) -> Iterator[tuple[Served, GatedEncoder]]:
    """A service whose encoder waits at a gate."""
    gate = GatedEncoder(encoder)
    with serving(gate, {"docs": docs}) as served:
        try:
            yield served, gate
        finally:
            gate.gate.set()


def _ask_all(served: Served, bodies: list[dict[str, Any]], queued: list[Any]) -> list[threading.Thread]:
    """Asks one after the other, each when the last one is in its queue."""
    address = f"http://127.0.0.1:{served.port}/v1/collections/docs/search"
    threads = []
    for count, body in enumerate(bodies, 1):
        threads.append(threading.Thread(target=httpx.post, args=[address], kwargs={"json": body, "timeout": PATIENCE}))
        threads[-1].start()
        until(lambda count=count: len(queued) == count)
    return threads


def test_long_queries_are_encoded_one_at_a_time_and_in_turns(
    gated: tuple[Served, GatedEncoder], encoded: list[str]
) -> None:
    served, gate = gated
    texts = ("owl", *[LONG] * 3, *["fox"] * 3)
    threads = _ask_all(served, [{"query": text, "matches": False} for text in texts], encoded)
    served.client.get("/healthz")  # the event loop went on: the last one is in its queue
    gate.gate.set()
    for one in threads:
        one.join(PATIENCE)
    assert gate.calls == [["owl"], [LONG], ["fox"] * 3, [LONG], [LONG]]


def test_large_searches_take_turns_with_small_ones(
    shared: Served, searches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is a batch of its own; a small search waits for one of them at most."""
    gate, searched = threading.Event(), list[int]()
    search = Collection.answer

    def spy(self: Collection, texts: Any, options: Any, vectors: Any) -> Any:
        searched.append(sum(map(len, vectors)))
        assert gate.wait(PATIENCE)
        return search(self, texts, options, vectors)

    monkeypatch.setattr(Collection, "answer", spy)
    small, large = [[1.0] * 16], [[1.0] * 16] * (LONG_QUERY_TOKENS + 1)
    given = (small, large, large, large, small, small, small)
    threads = _ask_all(shared, [{"vectors": vectors, "matches": False} for vectors in given], searches)
    shared.client.get("/healthz")
    gate.set()
    for one in threads:
        one.join(PATIENCE)
    assert searched == [1, len(large), 3, len(large), len(large)]


@pytest.mark.parametrize(
    ("options", "thread"),
    [({"k": MANY_HITS}, "answering"), ({"k": MANY_HITS + 1}, "large"), ({"trace": True}, "large")],
)
def test_large_answers_are_made_on_a_thread_of_their_own(
    shared: Served, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], thread: str
) -> None:
    threads: list[str] = []
    make = search_routes.to_plain

    def spy(*given: Any, **named: Any) -> Any:
        threads.append(threading.current_thread().name.partition("_")[0])
        return make(*given, **named)

    monkeypatch.setattr(search_routes, "to_plain", spy)
    assert shared.search(query="river", **options).status_code == 200
    assert threads == [thread]

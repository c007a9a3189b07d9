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
    """The queries that were encoded."""
    texts: list[str] = []
    encode = Service.encode

    async def spy(self: Service, collection: str, given: Any, *, queries: bool) -> Any:
        texts.extend(given)
        return await encode(self, collection, given, queries=queries)

    monkeypatch.setattr(Service, "encode", spy)
    return texts


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


def _all_asked(served: Served, bodies: list[dict[str, Any]]) -> list[threading.Thread]:
    """Asks one after the other, without waiting for answers."""
    address = f"http://127.0.0.1:{served.port}/v1/collections/docs/search"
    threads = []
    for count, body in enumerate(bodies, 1):
        threads.append(threading.Thread(target=httpx.post, args=[address], kwargs={"json": body, "timeout": PATIENCE}))
        threads[-1].start()
        until(lambda count=count: served.service.requests_in_progress() == count)
    return threads


def test_long_queries_are_encoded_one_at_a_time_and_in_turns(gated: tuple[Served, GatedEncoder]) -> None:
    served, gate = gated
    bodies = [{"query": text, "matches": False} for text in ("owl", *[LONG] * 3, *["fox"] * 3)]
    threads = _all_asked(served, bodies)
    gate.gate.set()
    for one in threads:
        one.join(PATIENCE)
    assert gate.calls == [["owl"], [LONG], ["fox"] * 3, [LONG], [LONG]]


def test_large_searches_take_turns_with_small_ones(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
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
    threads = _all_asked(shared, [{"vectors": vectors, "matches": False} for vectors in given])
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

"""What takes long is stopped when its time is over, and does not keep others from being answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maxsieve._core import StoppedError
from maxsieve.service import search_routes as searching
from maxsieve.text import OnnxEncoder
from maxsieve.text.collection.hits import TextHits
from service.support import PATIENCE, Served, detail, serving, until


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The matches of a query for "river" never end; the list says how that ended."""
    ends: list[str] = []
    make, given_up = searching.to_plain, threading.Event()

    def to_plain(hits: TextHits, *, explain: bool) -> dict[str, Any]:
        try:
            while hits.query == "river" and not given_up.is_set():
                hits.explain(0)
        except StoppedError:
            ends.append("stopped")
            raise
        return make(hits, explain=explain)

    monkeypatch.setattr(searching, "to_plain", to_plain)
    yield ends
    given_up.set()


def test_matches_are_stopped_when_their_time_is_over(encoder: OnnxEncoder, docs: Path, endless: list[str]) -> None:
    with serving(encoder, {"docs": docs}, deadline=1) as served:
        for number in range(1, 4):  # more than there are threads
            answer = served.search(query="river")
            assert answer.status_code == 504
            until(lambda number=number: len(endless) == number)  # type: ignore[misc]
        assert served.search(query="owl").status_code == 200


def test_matches_are_stopped_when_their_client_is_gone(encoder: OnnxEncoder, docs: Path, endless: list[str]) -> None:
    with serving(encoder, {"docs": docs}) as served:
        with pytest.raises(httpx.ReadTimeout):
            served.client.post("/v1/collections/docs/search", json={"query": "river"}, timeout=0.5)
        until(lambda: endless)
        assert served.search(query="owl").status_code == 200


def test_the_service_ends_although_matches_are_made(encoder: OnnxEncoder, docs: Path, endless: list[str]) -> None:
    with serving(encoder, {"docs": docs}, drain=1) as served:
        asked = threading.Thread(target=_ask, args=[served, "river"])
        asked.start()
        until(lambda: served.service.requests_in_progress() == 1)
    asked.join(PATIENCE)
    assert endless == ["stopped"]


def _ask(served: Served, query: str) -> None:
    """Asks for what is never answered."""
    address = f"http://127.0.0.1:{served.port}/v1/collections/docs/search"
    answer = httpx.post(address, json={"query": query}, timeout=PATIENCE)
    assert (answer.status_code, detail(answer)) == (503, "the service is shutting down")


def test_health_and_readiness_wait_for_nobody(encoder: OnnxEncoder, docs: Path, endless: list[str]) -> None:
    with serving(encoder, {"docs": docs}, drain=1) as served:
        asked = [threading.Thread(target=_ask, args=[served, "river"]) for _ in range(4)]
        for one in asked:
            one.start()
        until(lambda: served.service.requests_in_progress() == len(asked))
        for path in ("/healthz", "/readyz", "/metrics"):
            assert served.client.get(path).status_code == 200
        assert not endless  # all of them are still being made
    for one in asked:
        one.join(PATIENCE)


def test_hits_times_tokens(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = shared.search(query="river mountain owl").json()["query"]["tokens"]
    monkeypatch.setattr(searching, "MATCHES", 2 * tokens)
    assert len(shared.search(query="river mountain owl", k=2).json()["hits"]) == 2
    answer = shared.search(query="river mountain owl", k=3)
    assert answer.status_code == 400
    assert f"3 hits for {tokens} tokens" in detail(answer)
    assert '"k": 2 or less' in detail(answer)
    assert len(shared.search(query="river mountain owl", k=3, matches=False).json()["hits"]) == 3


def test_the_tokens_of_a_trace(shared: Served) -> None:
    answer = shared.search(query="river " * 129, trace=True)
    assert answer.status_code == 400
    assert "128 tokens" in detail(answer)
    assert shared.search(query="river " * 129).status_code == 200
    assert shared.search(query="river", trace=True).status_code == 200

"""Every way of the hostile clients of benchmarks/runs/load.py, beside clients that ask for what they may.

Here they are counted: each attack is refused or dropped, and everybody else is answered.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runs import hostile_clients
from maxsieve.text import OnnxEncoder
from service.support import PATIENCE, serving, until

ROOT = Path(__file__).parents[2]
PATH = "/v1/collections/docs/search"
CLOSED = 0
EXPECTED = {
    "a body that is owed": {200},
    "headers that never end": {CLOSED},
    "a long query with many hits": {200},  # of four documents
    "wrong JSON": {413},
    "large vectors": {400},
    "a field named again": {413},
    "a field to ignore": {413},
    "a trace": {400, 200},
    "a search without a reader": {CLOSED},
    "tiny chunks": {400, CLOSED},
}


@pytest.fixture
def hostile() -> Any:
    """The hostile clients."""
    return hostile_clients


@pytest.mark.filterwarnings("ignore::maxsieve.text.encoders.truncation_warning.TruncationWarning")
def test_attacks_are_refused_and_others_answered(encoder: OnnxEncoder, docs: Path, hostile: Any) -> None:
    assert {way.name for way in hostile.WAYS} == set(EXPECTED)
    with serving(encoder, {"docs": docs}, patience=2) as served:
        over = threading.Event()
        statuses: list[int] = []

        def ask() -> None:
            while not over.is_set():
                statuses.append(served.search(query="river").status_code)
                statuses.append(served.client.get("/readyz").status_code)

        asking = threading.Thread(target=ask)
        asking.start()

        async def attack() -> list[int]:
            end = time.perf_counter() + PATIENCE
            ways = [way for way in hostile.WAYS for _ in range(2)]
            return await asyncio.gather(*(hostile.attack("127.0.0.1", served.port, PATH, way, end) for way in ways))

        try:
            found = asyncio.run(attack())
        finally:
            over.set()
            asking.join(PATIENCE)
        for number, status in enumerate(found):
            assert status in EXPECTED[hostile.WAYS[number // 2].name], hostile.WAYS[number // 2].name
        assert set(statuses) == {200}
        until(lambda: served.service.requests_in_progress() == 0)
        until(lambda: served.connections() == 0)

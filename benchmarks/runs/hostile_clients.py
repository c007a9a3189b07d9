"""Clients that try to use up the service: its connections, its threads, its event loop and its memory.

`WAYS` has their requests. tests/service/test_hostile_load.py sends each of them, `load.py --hostile` all at once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

REFUSED = 0
HELD = 20
"""Connections that a client holds at a time, if it attacks connections."""


class Way(NamedTuple):
    """A request, and what is sent after its answer; ``hold`` keeps the connection open as long as the service does."""

    name: str
    sent: Callable[[str], bytes]
    then: bytes = b""
    hold: bool = False
    hang_up: bool = False


def request(method: str, path: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    if body or length is not None:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _json(**body: object) -> bytes:
    return json.dumps(body).encode()


_LONG = _json(query="word list split " * 1000, k=1000)
_WRONG = b'{"vectors": [' + b",".join([b"[" + b",".join([b'""'] * 4096) + b"]"] * 1024) + b"]}"
_VECTORS = b'{"vectors": [' + b",".join([b"[" + b",".join([b"0.25"] * 3000) + b"]"] * 1000) + b"]}"
_EMPTY = b'{"query": "a", "texts": ["b"], "ignored": [' + b",".join([b"[]"] * 5_000_000) + b"]}"
_FIELDS = _json(query="a", documents=[{"text": "x" * 16_000}] * 900, rank_fields=["text"] * 100)
_TRACE = _json(query="word list split " * 40, k=1000, trace=True, policy={"name": "bandit", "block": 1})
_CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 100_000

WAYS = (
    Way("a body that is owed", lambda _: request("GET", "/v1/collections", length=9), b"1", hold=True),
    Way("headers that never end", lambda _: b"GET /healthz HTTP/1.1\r\nHost: ", b"a", hold=True),
    Way("a long query with many hits", lambda path: request("POST", path, _LONG)),
    Way("wrong JSON", lambda path: request("POST", path, _WRONG)),
    Way("large vectors", lambda path: request("POST", path, _VECTORS)),
    Way("a field named again", lambda _: request("POST", "/rerank", _FIELDS)),
    Way("a field to ignore", lambda _: request("POST", "/rerank", _EMPTY)),
    Way("a trace", lambda path: request("POST", path, _TRACE)),
    Way("a search without a reader", lambda path: request("POST", path, _LONG), hang_up=True),
    Way("tiny chunks", lambda _: request("POST", "/rerank").removesuffix(b"\r\n") + _CHUNKS),
)


async def attack(host: str, port: int, path: str, way: Way, until: float) -> int:
    """Sends one request; returns the status of the answer, `REFUSED` if there was none."""
    status = REFUSED
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return status
    try:
        writer.write(way.sent(path))
        if way.hang_up:
            await asyncio.sleep(0.2)
            return status
        if not way.hold or way.then == b"1":
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), max(1, until - time.perf_counter()))
            status = int(head.split(b" ", 2)[1])
        while way.hold and not reader.at_eof() and time.perf_counter() < until:
            writer.write(way.then)
            await writer.drain()
            await asyncio.sleep(1)
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
        pass
    finally:
        writer.transport.abort()
    return status


async def _client(host: str, port: int, path: str, number: int, until: float, seen: Counter[str]) -> None:
    while time.perf_counter() < until:
        way = WAYS[number % len(WAYS)]
        count = HELD if way.hold else 1
        for status in await asyncio.gather(*(attack(host, port, path, way, until) for _ in range(count))):
            seen[f"{way.name}: {status or 'closed'}"] += 1
        number += 1


async def _all(host: str, port: int, path: str, clients: int, seconds: float) -> Counter[str]:
    seen: Counter[str] = Counter()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(_client(host, port, path, number, until, seen) for number in range(clients)))
    return seen


def run(host: str, port: int, path: str, clients: int, seconds: float) -> None:
    """Attacks for so long, and prints what came back. Each client goes through all ways, again and again."""
    seen = asyncio.run(_all(host, port, path, clients, seconds))
    for what, count in sorted(seen.items()):
        print(f"  hostile, {what}: {count:,}")

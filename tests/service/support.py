"""A service in a thread of the tests, at a port of its own."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from maxsieve.service.open_collections import OpenCollections
from maxsieve.service.server import Server, bind
from maxsieve.service.service import Service
from maxsieve.service.settings import Settings
from maxsieve.text import OnnxEncoder

PATIENCE = 60
"""Seconds to wait for something that takes almost none: a busy machine must not decide a test."""

ANIMALS = {
    "fox": "A red fox by the river.",
    "owl": "An owl on a mountain.",
    "tea": "Green tea and blue bread.",
    "path": "A path over the mountain to the river.",
}
YEARS = {"fox": 1999, "owl": 2001, "tea": 2001, "path": 2020}


@dataclass
class Served:
    """A service that runs, and a client for it."""

    service: Service
    port: int
    client: httpx.Client
    server: Server

    def connections(self) -> int:
        """How many connections are open besides the client's own, which is closed first."""
        self.client.close()
        return len(self.server.server_state.connections)

    def search(self, name: str = "docs", **body: Any) -> httpx.Response:
        """Searches a collection."""
        return self.client.post(f"/v1/collections/{name}/search", json=body)

    def raw(self, sent: bytes) -> bytes:
        """The answer to some bytes, until the connection is closed."""
        with self.connect() as connection:
            connection.sendall(sent)
            return received(connection)

    def connect(self) -> socket.socket:
        """A connection on which nothing has been sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


def until(condition: Callable[[], object]) -> None:
    """Waits for something that will be so, sooner or later."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def received(connection: socket.socket) -> bytes:
    """All bytes until the connection is closed."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def posted(path: str, body: bytes, *headers: str, length: bool = True) -> bytes:
    """A request in the bytes of HTTP."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Connection: close",
        *headers,
    ]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def serving(encoder: Any, collections: dict[str, Path] | None = None, **settings: Any) -> Iterator[Served]:
    """A service, until the end of the block."""
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        begun = threading.Event()
        chosen = Settings(**settings)
        service = Service(OpenCollections(collections or {}, encoder, audit=chosen.audit), encoder, chosen)
        server = Server(service, begun.set)
        thread = threading.Thread(target=server.serve_at, args=[listener])
        thread.start()
        try:
            assert begun.wait(PATIENCE)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
                yield Served(service, port, client, server)
        finally:
            server.end()
            thread.join(PATIENCE)
            assert not thread.is_alive()


class GatedEncoder:
    """An encoder that waits at a gate before it encodes, and tells when a request has come there."""

    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder
        self.gate, self.came = threading.Event(), threading.Semaphore(0)
        self.calls: list[list[str]] = []
        self.name, self.dim, self.fingerprint = encoder.name, encoder.dim, encoder.fingerprint
        self.max_tokens, self.count_tokens = encoder.max_tokens, encoder.count_tokens

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[np.ndarray]:
        return self._wait(texts)

    def encode_queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return self._wait(texts)

    def _wait(self, texts: Sequence[str]) -> list[np.ndarray]:
        self.calls.append(list(texts))
        self.came.release()
        assert self.gate.wait(PATIENCE)
        return self._encoder.encode_documents(texts)


def detail(response: httpx.Response) -> str:
    """The sentence of an answer that says what is wrong."""
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"detail"}
    assert "Traceback" not in body["detail"]
    return str(body["detail"])


def parsed(answer: bytes) -> tuple[int, Any]:
    """The status and the JSON of an answer in the bytes of HTTP."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), json.loads(body)

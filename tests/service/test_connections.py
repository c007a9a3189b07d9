"""Connections end: nothing that a client sends or leaves out keeps one open without a request."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest

from maxsieve.text import OnnxEncoder
from service.support import PATIENCE, Served, parsed, posted, received, serving, until

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"]


def asked(method: str, path: str, *headers: str) -> bytes:
    """A request without a body, as it goes over the wire; the connection may stay open."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


def head(connection: socket.socket) -> bytes:
    """The headers of the next answer, and perhaps more."""
    came = b""
    while b"\r\n\r\n" not in came and (part := connection.recv(65536)):
        came += part
    return came.lower()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("announced", ["Content-Length: 9", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", ["/v1/collections", "/healthz", "/nowhere"])
def test_who_owes_a_body_is_closed(shared: Served, method: str, announced: str, path: str) -> None:
    """No timer decides this: the service's patience is longer than the test's."""
    with shared.connect() as connection:
        connection.settimeout(shared.service.settings.patience / 2)
        connection.sendall(asked(method, path, announced, "Content-Type: application/json", "Expect: 100-continue"))
        answer = received(connection)  # until it is closed
    heads = [
        one for one in answer.lower().split(b"\r\n\r\n") if one.startswith(b"http/1.1") and b"100 continue" not in one
    ]
    assert len(heads) == 1
    assert b"connection: close" in heads[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_nobody_asked_for_is_no_reason_to_close(shared: Served, method: str) -> None:
    with shared.connect() as connection:
        for _ in range(2):
            connection.sendall(asked(method, "/nowhere", "Content-Length: 9") + b"123456789")
            assert b"connection: close" not in head(connection)


def test_a_byte_after_an_answer_does_not_stop_the_clock(encoder: OnnxEncoder) -> None:
    with serving(encoder, api_key="key", patience=0.5) as served, contextlib.ExitStack() as kept:
        opened = [kept.enter_context(served.connect()) for _ in range(10)]
        for one in opened:
            one.sendall(asked("GET", "/v1/collections", "Content-Length: 9"))
        heads = [head(one) for one in opened]  # and the body, if it came with it
        for one in opened:
            with contextlib.suppress(ConnectionError):
                one.sendall(b"1")
        for came, one in zip(heads, opened, strict=True):
            assert b" 401 " in came
            assert (came + received(one).lower()).count(b"http/1.1") == 1
        until(lambda: served.connections() == 0)


def test_the_clock_runs_until_the_next_request_is_complete(encoder: OnnxEncoder) -> None:
    with serving(encoder, patience=0.5) as served, served.connect() as connection:
        connection.sendall(asked("GET", "/healthz"))
        assert b" 200 " in head(connection)
        with contextlib.suppress(ConnectionError):
            for letter in asked("GET", "/healthz", f"X: {'x' * 1000}"):
                connection.sendall(bytes([letter]))
                time.sleep(0.05)
        assert b"HTTP/1.1" not in received(connection)


def test_an_end_that_nobody_reads(encoder: OnnxEncoder) -> None:
    """The last bytes of an answer wait in the service: it must not wait for their reader after it has closed."""
    with serving(encoder, patience=0.5) as served, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", served.port))
        connection.settimeout(PATIENCE)
        body = b'{"query": "river", "texts": ["river' + b" " * 1_900_000 + b'"], "return_text": true}'
        connection.sendall(posted("/rerank", body))
        until(lambda: served.connections() == 0)
        until(lambda: served.service.requests_in_progress() == 0)


def test_tiny_chunks(shared: Served) -> None:
    """Each chunk costs the service far more than the byte that it carries."""
    chunked = b"1\r\n[\r\n" * 200_000
    with shared.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(posted("/rerank", chunked, "Transfer-Encoding: chunked", length=False))
        answer = received(connection)
    assert not answer or parsed(answer)[0] == 400
    pieces = b"".join(
        b"%x\r\n%s\r\n" % (len(one), one) for one in [b'{"query": "a",', b'"texts": ["b"]', b"}"] + [b" "] * 500
    )
    told = posted("/rerank", pieces + b"0\r\n\r\n", "Transfer-Encoding: chunked", length=False)
    assert parsed(shared.raw(told))[0] == 200

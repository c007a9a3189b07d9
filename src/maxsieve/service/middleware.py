"""Checks that every request passes before it reaches a route: API key, origin, size, and time.

It wraps the application as plain ASGI, so that routes notice when a client disconnects.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maxsieve.service.failures import to_problem
from maxsieve.service.service import Service
from maxsieve.service.settings import is_loopback

OPEN = {"/healthz", "/readyz"}
"""Paths that need no API key, besides the files of the page."""

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
]
NO_STORE = (b"cache-control", b"no-store")

BODIES = {"POST", "PUT", "PATCH", "DELETE"}

DISCARD_SECONDS = 1


class Guard:
    """Refuses requests that are not allowed, counts the others, and adds security headers."""

    def __init__(self, app: ASGIApp, service: Service, public: frozenset[str]) -> None:
        self._app, self._service, self._public = app, service, public | OPEN
        key = service.settings.api_key
        self._key = None if key is None else _digest(key.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served, not {scope['type']}")
        exchange = _Exchange(scope, receive, send, self._service)
        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            if scope["method"] in BODIES:
                with self._service.admitted(_length(headers, self._service.settings.body_bytes)):
                    await self._app(scope, exchange.receive, exchange.send)
            else:
                await self._app(scope, exchange.receive, exchange.send)
        except (Exception, asyncio.CancelledError) as failure:
            if exchange.finished:
                return  # the error was answered already
            if exchange.started:
                raise
            if isinstance(failure, asyncio.CancelledError):
                failure = HTTPException(503, "the service is shutting down")
            await to_problem(failure)(scope, exchange.receive, exchange.send)
        finally:
            exchange.count()

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Raises an error for a request that is not allowed."""
        if self._key is None and not _is_here(headers.get("host", "")):
            raise HTTPException(421, "this service answers only to names of this machine, such as 127.0.0.1")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            raise HTTPException(403, "requests from pages of other sites are refused")
        if self._key is not None and scope["path"] not in self._public and not _carries(headers, self._key):
            raise HTTPException(401, "the API key is missing or wrong", {"WWW-Authenticate": "Bearer"})


class _Exchange:
    """The messages of a request and its answer, with limits on size and time."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self._scope, self._receive, self._send, self._service = scope, receive, send, service
        self._begun, self._length, self._complete = perf_counter(), 0, False
        self._status = 499
        self.started = self.finished = False

    async def receive(self) -> Message:
        """The next part of the body. After the body is complete, there is no time limit."""
        if self._complete:
            return await self._receive()
        settings = self._service.settings
        left = settings.patience - (perf_counter() - self._begun)
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.001))
        except asyncio.TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {settings.patience:g} seconds") from None
        self._length += len(message.get("body", b""))
        if self._length > settings.body_bytes:
            raise _too_large(settings.body_bytes)
        self._complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """A part of the answer."""
        if message["type"] == "http.response.start":
            await self._discard()
            self.started, self._status = True, message["status"]
            known = {name.lower() for name, _ in message.get("headers", [])}
            added = [*HEADERS, *([] if b"cache-control" in known else [NO_STORE])]
            if not self._complete:
                added.append((b"connection", b"close"))  # the rest of the body is not read
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await self._send(message)
        self.finished = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def _discard(self) -> None:
        """Reads the rest of the body for a moment: most clients read the answer only after they have sent all."""
        if "expect" in Headers(scope=self._scope):
            return  # this client waits for an answer before it sends the body
        end, left = perf_counter() + DISCARD_SECONDS, self._service.settings.body_bytes
        with suppress(asyncio.TimeoutError):
            while not self._complete and left > 0:
                message = await asyncio.wait_for(self._receive(), max(end - perf_counter(), 0.001))
                left -= len(message.get("body", b""))
                self._complete = not message.get("more_body", False)

    def count(self) -> None:
        """Updates the metrics."""
        route: Any = self._scope.get("route")
        path = getattr(route, "path", "none")
        self._service.metrics.requests.labels(path, str(self._status)).inc()
        self._service.metrics.seconds.labels(path).observe(perf_counter() - self._begun)


def _length(headers: Mapping[str, str], most: int) -> int:
    """The size of the body that the client announces; if it does not, the largest allowed size."""
    length = headers.get("content-length", "")
    if not re.fullmatch("[0-9]{1,18}", length):
        return most if "transfer-encoding" in headers else 0
    if int(length) > most:
        raise _too_large(most)
    return int(length)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"the body has more than {most:,} bytes")


def _is_here(host: str) -> bool:
    """Whether a Host header names this machine. In a DNS rebinding attack it names another host.

    >>> [_is_here(host) for host in ("127.0.0.1:8800", "localhost", "[::1]:8800", "evil.example:8800", "")]
    [True, True, True, False, False]
    """
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _carries(headers: Mapping[str, str], key: bytes) -> bool:
    """Whether a request has the API key with this digest.

    Digests are compared, in constant time: how long it takes says nothing about the key, not even its length.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = token if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    return hmac.compare_digest(_digest(given.strip().encode("latin-1", "replace")), key)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()

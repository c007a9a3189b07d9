"""What every request passes before a route sees it: who asks, from where, how much, how slowly.

It stands around the application as plain ASGI, so that a client that hangs up is noticed by the routes.
"""

from __future__ import annotations

import asyncio
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
"""What needs no API key, beside the page's own files."""

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
    """Refuses what is not for the service, counts what is, and adds the headers that keep browsers strict."""

    def __init__(self, app: ASGIApp, service: Service, public: frozenset[str]) -> None:
        self._app, self._service, self._public = app, service, public | OPEN
        key = service.settings.api_key
        self._key = None if key is None else key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request."""
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
        except Exception as failure:
            if exchange.finished:
                return  # what went wrong has been said
            if exchange.started:
                raise
            await to_problem(failure)(scope, exchange.receive, exchange.send)
        finally:
            exchange.count()

    def _check(self, scope: Scope, headers: Headers) -> None:
        """The sentence for a request that may not pass."""
        if self._key is None and not _is_here(headers.get("host", "")):
            raise HTTPException(421, "this service answers to this machine's own names only, such as 127.0.0.1")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            raise HTTPException(403, "requests of other sites' pages are not answered")
        if self._key is not None and scope["path"] not in self._public and not _carries(headers, self._key):
            raise HTTPException(401, "the API key is missing or wrong", {"WWW-Authenticate": "Bearer"})


class _Exchange:
    """A request as it comes and its answer as it goes, neither of them too large or too slow."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self._scope, self._receive, self._send, self._service = scope, receive, send, service
        self._begun, self._length, self._complete = perf_counter(), 0, False
        self._status = 499
        self.started = self.finished = False

    async def receive(self) -> Message:
        """The next part of the body; when it is complete, whatever comes whenever it comes."""
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
            if self._scope["method"] in BODIES:
                await self._discard()
            self.started, self._status = True, message["status"]
            known = {name.lower() for name, _ in message.get("headers", [])}
            added = [*HEADERS, *([] if b"cache-control" in known else [NO_STORE])]
            if not self._complete and self._scope["method"] in BODIES:
                added.append((b"connection", b"close"))  # the rest of the body is not waited for
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await self._send(message)
        self.finished = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def _discard(self) -> None:
        """Reads on for a moment: most clients look for an answer when they have sent everything, and not before."""
        if "expect" in Headers(scope=self._scope):
            return  # this one waits for an answer before it sends anything
        end, left = perf_counter() + DISCARD_SECONDS, self._service.settings.body_bytes
        with suppress(asyncio.TimeoutError):
            while not self._complete and left > 0:
                message = await asyncio.wait_for(self._receive(), max(end - perf_counter(), 0.001))
                left -= len(message.get("body", b""))
                self._complete = not message.get("more_body", False)

    def count(self) -> None:
        """For the metrics."""
        route: Any = self._scope.get("route")
        path = getattr(route, "path", "none")
        self._service.metrics.requests.labels(path, str(self._status)).inc()
        self._service.metrics.seconds.labels(path).observe(perf_counter() - self._begun)


def _length(headers: Mapping[str, str], most: int) -> int:
    """The bytes of a body, as far as the client says; all that are allowed if it does not."""
    length = headers.get("content-length", "")
    if not re.fullmatch("[0-9]{1,18}", length):
        return most if "transfer-encoding" in headers else 0
    if int(length) > most:
        raise _too_large(most)
    return int(length)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"the body has more than {most:,} bytes")


def _is_here(host: str) -> bool:
    """Whether a Host header names this machine. A page elsewhere whose name was made to point here has another.

    >>> [_is_here(host) for host in ("127.0.0.1:8800", "localhost", "[::1]:8800", "evil.example:8800", "")]
    [True, True, True, False, False]
    """
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _carries(headers: Mapping[str, str], key: bytes) -> bool:
    """Whether a request carries the API key, found out in a time that says nothing of it."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = token if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    return hmac.compare_digest(given.strip().encode("latin-1", "replace"), key)

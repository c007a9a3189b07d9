"""How requests are read: a body must be JSON as in RFC 8259 (UTF-8, no NaN, no lone surrogates, limited nesting).

A header may shorten the timeout of a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from email.message import Message
from functools import partial
from time import perf_counter
from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.bodies import read_json
from maxsieve.service.failures import validation_sentence
from maxsieve.service.service import BEGUN, service_of, too_late

SMALL = 64 << 10
"""A body of so many bytes is read at once. Larger ones take turns on a thread, so that they delay no others."""


class StrictRequest(Request):
    """A request whose body is read strictly, and checked against the schema of its route."""

    validate: Callable[..., tuple[Any, list[Any]]]

    async def json(self) -> Any:
        """The body as an object of the route; an error says where it is not valid JSON, or does not fit."""
        body = await self.body()
        self.scope[BEGUN] = perf_counter()
        if len(body) <= SMALL:
            return self._read(body)
        service = service_of(self)
        seconds = service.settings.deadline
        try:
            return await asyncio.wait_for(service.run_large(partial(self._read_large, body)), seconds)
        except asyncio.TimeoutError:
            raise too_late(seconds) from None

    def _read_large(self, body: bytes) -> Any:
        dim, opened = None, service_of(self).collections.get(self.path_params.get("name", ""))
        if opened is not None:
            with opened.using() as collection:
                dim = collection.index.dim
        return self._read(body, dim)

    def _read(self, body: bytes, dim: int | None = None) -> Any:
        value, errors = self.validate(read_json(body, dim), loc=("body",))
        if errors:
            raise HTTPException(422, validation_sentence(errors))
        return value


class StrictRoute(APIRoute):
    """A route that accepts only such requests."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wraps the handler of FastAPI."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                if not _is_json(request.headers.get("content-type", "")):
                    raise HTTPException(415, "send the body as Content-Type: application/json")
                strict.validate = self.body_field.validate
            return await handle(strict)

        return strictly


def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type
    charset = message.get_param("charset", "utf-8")
    return message.get_content_type() == "application/json" and str(charset).lower() in ("utf-8", "utf8")


async def _seconds(
    request: Request,
    timeout: Annotated[
        float | None,
        Header(
            alias="X-Timeout-Seconds",
            gt=0,
            allow_inf_nan=False,
            description="Cancel the request after this many seconds.",
        ),
    ] = None,
) -> float:
    longest = service_of(request).settings.deadline
    return longest if timeout is None else min(timeout, longest)


Seconds = Annotated[float, Depends(_seconds)]
"""The timeout of a request, in seconds."""

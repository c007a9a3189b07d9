"""Request bodies must be JSON as in RFC 8259: UTF-8, no NaN, no lone surrogates, limited nesting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi import HTTPException
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response


class StrictRequest(Request):
    """A request whose body is read strictly."""

    async def json(self) -> Any:
        """The parsed body; an error says where it is not valid JSON."""
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as wrong:
            raise HTTPException(400, f"the body is not valid JSON: {wrong}"[:300]) from None


class StrictRoute(APIRoute):
    """A route that accepts only such requests."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wraps the handler of FastAPI."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            if self.body_field is not None and not _is_json(request.headers.get("content-type", "")):
                raise HTTPException(415, "send the body as Content-Type: application/json")
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type
    charset = message.get_param("charset", "utf-8")
    return message.get_content_type() == "application/json" and str(charset).lower() in ("utf-8", "utf8")

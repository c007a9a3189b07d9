"""Turns errors into a status and a message. No traceback ever leaves the service."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.cluster.coordinator import ShardsUnavailableError
from maxsieve.common.printable import printable_json
from maxsieve.errors import Argument, Function, IndexLockedError, MaxsieveError, explain
from maxsieve.text.collection.additions import OtherDocumentError

logger = logging.getLogger("maxsieve.service")

RETRY_SECONDS = 1
FULL = (errno.ENOSPC, errno.EDQUOT)


class Problem(BaseModel):
    """An error message."""

    detail: str = Field(examples=["k: Input should be less than or equal to 1000"])


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The possible error answers of a route, for the OpenAPI schema."""
    every = (400, 401, 403, 404, 408, 413, 415, 421, 422, 429, 503, 504)
    return {status: {"model": Problem, "description": _MEANINGS[status]} for status in sorted({*statuses, *every})}


_MEANINGS = {
    400: "The request is malformed, or a value in it is not valid here.",
    401: "The API key is missing or wrong.",
    403: "The request comes from another site, or the service is read-only.",
    404: "There is no such collection, document or route.",
    408: "The request took too long to arrive.",
    409: "Another document with this id exists already.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    421: "The Host header names another machine.",
    422: "The request does not fit the schema.",
    423: "Another process is writing to the collection.",
    429: "Too many requests are being handled.",
    507: "The disk of the service is full.",
    503: "The collection is damaged or missing, a shard is unavailable, or the service is shutting down.",
    504: "The deadline has passed.",
}


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer. Control characters in texts are escaped, so that they can't affect a terminal."""
    return Response(printable_json(value).encode(), status, headers, "application/json")


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer with an error message."""
    return answer({"detail": detail}, status, headers)


class Described(NamedTuple):
    """An error as a status, a sentence, and headers of the answer."""

    status: int
    sentence: str
    headers: dict[str, str] | None = None


def described(failure: BaseException) -> Described:
    """What a client is told about an error. What it must not see is in the log."""
    if isinstance(failure, RequestValidationError):
        return Described(422, validation_sentence(failure.errors()))
    if isinstance(failure, HTTPException):
        return Described(failure.status_code, _plain(failure), dict(failure.headers) if failure.headers else None)
    if isinstance(failure, IndexLockedError):
        sentence = "another process is writing to the collection, or has replaced it"
        return Described(423, sentence, {"Retry-After": str(RETRY_SECONDS)})
    if isinstance(failure, ShardsUnavailableError):
        return Described(503, str(failure), {"Retry-After": str(RETRY_SECONDS)})
    if isinstance(failure, KeyError) and failure.args:
        return Described(404, explain(failure, _as_field))
    if isinstance(failure, OtherDocumentError):
        return Described(409, explain(failure, _as_field))
    if isinstance(failure, (ValueError, TypeError)):
        return Described(400, explain(failure, _as_field))
    if isinstance(failure, OSError) and failure.errno in FULL:
        logger.error("%s: %s", type(failure).__name__, failure)
        return Described(507, "the disk of the service is full; documents that were stored before are still there")
    if isinstance(failure, (MaxsieveError, OSError)):
        logger.error("%s: %s", type(failure).__name__, failure)
        return Described(503, "the collection is damaged or missing; see the log of the service")
    logger.error("unexpected failure", exc_info=failure)
    return Described(500, "an unexpected error occurred; see the log of the service")


def to_problem(failure: BaseException) -> Response:
    """The answer to a request that failed."""
    return problem(*described(failure))


async def on_failure(_: Request, failure: Exception) -> Response:
    """The handler for FastAPI, which is registered for each exception class."""
    return to_problem(failure)


def _as_field(named: Argument | Function) -> str | None:
    """An argument as a field of the request; None for what a request can't ask for."""
    if isinstance(named, Function) or named.name not in ("policy", "replace"):
        return None
    value = named.value if isinstance(named.value, (bool, str)) else type(named.value).__name__.lower()  # a policy
    return f'"{named.name}": {json.dumps(value)}'


def _plain(failure: HTTPException) -> str:
    sentences = {404: "there is no such route", 405: "this route does not support this method"}
    return sentences.get(failure.status_code, str(failure.detail))


def validation_sentence(errors: Sequence[Any]) -> str:
    """The first validation error, and the number of others."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where or 'the body'}: {first['msg']}{others}"[:1000]

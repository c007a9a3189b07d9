"""What went wrong, as a status and a sentence. No traceback ever leaves the service."""

from __future__ import annotations

import logging
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.common.printable import printable_json
from maxsieve.errors import IndexLockedError, MaxsieveError
from maxsieve.text.adding import OtherDocumentError

logger = logging.getLogger("maxsieve.service")

RETRY_SECONDS = 1


class Problem(BaseModel):
    """What went wrong, in a sentence."""

    detail: str = Field(examples=["k: Input should be less than or equal to 1000"])


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer instead, for its description."""
    every = (400, 401, 403, 404, 408, 413, 415, 421, 422, 429, 503, 504)
    return {status: {"model": Problem, "description": _MEANINGS[status]} for status in sorted({*statuses, *every})}


_MEANINGS = {
    400: "The request can't be understood, or a value in it makes no sense here.",
    401: "The API key is missing or wrong.",
    403: "The request comes from another site, or the service was not started with --writable.",
    404: "There is no such collection, document or route.",
    408: "The request took too long to arrive.",
    409: "A document of this id is there already, and is another one.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    421: "The Host header names another machine.",
    422: "The request does not fit the schema.",
    423: "Another process is writing to the collection.",
    429: "Too many requests are under way.",
    503: "The collection is damaged or gone, or the service is ending.",
    504: "The deadline has passed.",
}


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON, in which nothing can steer a terminal, whatever is in the texts."""
    return Response(printable_json(value).encode(), status, headers, "application/json")


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """The answer that says what went wrong."""
    return answer({"detail": detail}, status, headers)


def to_problem(failure: BaseException) -> Response:
    """The answer to a request that failed."""
    if isinstance(failure, RequestValidationError):
        return problem(422, _validation(failure))
    if isinstance(failure, HTTPException):
        headers = dict(failure.headers) if failure.headers else None
        return problem(failure.status_code, _plain(failure), headers)
    if isinstance(failure, IndexLockedError):
        return problem(
            423, "the collection is being written to by another process", {"Retry-After": str(RETRY_SECONDS)}
        )
    if isinstance(failure, KeyError) and failure.args:
        return problem(404, str(failure.args[0]))
    if isinstance(failure, OtherDocumentError):
        return problem(409, str(failure).replace("replace=True", '"replace": true'))
    if isinstance(failure, (ValueError, TypeError)):
        return problem(400, str(failure))
    if isinstance(failure, (MaxsieveError, OSError)):
        logger.error("%s: %s", type(failure).__name__, failure)
        return problem(503, "the collection is damaged or gone; the log of the service says more")
    logger.error("unexpected failure", exc_info=failure)
    return problem(500, "something unexpected went wrong; the log of the service says what")


async def on_failure(_: Request, failure: Exception) -> Response:
    """For FastAPI, which asks for a handler for each kind."""
    return to_problem(failure)


def _plain(failure: HTTPException) -> str:
    sentences = {404: "there is no such route", 405: "this route does not answer this method"}
    return sentences.get(failure.status_code, str(failure.detail))


def _validation(failure: RequestValidationError) -> str:
    """The first thing that does not fit, and how many others there are."""
    errors = failure.errors()
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where or 'the body'}: {first['msg']}{others}"[:1000]

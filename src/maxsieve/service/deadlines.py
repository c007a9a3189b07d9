"""The timeout of a request: the service's, or a shorter one in the request's header."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header
from starlette.requests import Request

from maxsieve.service.service import service_of


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

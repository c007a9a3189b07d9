"""How long a request may take: as long as the service allows, or less if its header says so."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header
from starlette.requests import Request

from maxsieve.service.service import service_of


def _seconds(
    request: Request,
    timeout: Annotated[
        float | None,
        Header(alias="X-Timeout-Seconds", gt=0, allow_inf_nan=False, description="Give up after so many seconds."),
    ] = None,
) -> float:
    longest = service_of(request).settings.deadline
    return longest if timeout is None else min(timeout, longest)


Seconds = Annotated[float, Depends(_seconds)]
"""How long a request may take."""

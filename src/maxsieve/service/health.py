"""Routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from maxsieve.errors import MaxsieveError
from maxsieve.service.failures import Problem, answer, documented, logger, problem
from maxsieve.service.service import Service, ServiceDep

router = APIRouter(tags=["health"])


class Alive(BaseModel):
    """The process is alive."""

    status: Literal["ok"]


@router.get("/healthz", response_model=Alive, responses=documented())
async def healthz() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", response_model=Alive, responses={**documented(), 503: {"model": Problem}})
async def readyz(service: ServiceDep) -> Response:
    """Whether every collection can be searched."""
    broken = await service.examine(lambda: _broken(service))
    if broken:
        return problem(503, f"these collections can't be searched now: {', '.join(broken)}")
    return answer({"status": "ok"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **documented()})
async def metrics(service: ServiceDep) -> Response:
    """Counts for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _broken(service: Service) -> list[str]:
    return [name for name in service.shelf if not _can_be_searched(service, name)]


def _can_be_searched(service: Service, name: str) -> bool:
    try:
        with service.shelf[name].using():
            return True
    except (MaxsieveError, OSError, ValueError) as failure:
        logger.error("%s: %s", name, failure)
        return False

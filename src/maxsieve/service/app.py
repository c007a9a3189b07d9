"""The application: routes, error handlers, and the guard around all of them; health, metrics and the page itself.

The page's files are read when the service starts. Paths of requests are never used to open files.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from maxsieve import __version__
from maxsieve.errors import MaxsieveError
from maxsieve.policies import POLICIES
from maxsieve.service import document_routes, rerank_routes, schema, search_routes
from maxsieve.service.failures import Problem, answer, documented, logger, on_failure, problem
from maxsieve.service.middleware import Guard
from maxsieve.service.service import Service, ServiceDep

router = APIRouter(tags=["health"])
FAILURES = (RequestValidationError, HTTPException, MaxsieveError, OSError, ValueError, TypeError, KeyError, Exception)


def create_app(service: Service) -> ASGIApp:
    """The application of a service, for uvicorn or any other ASGI server."""
    app = FastAPI(
        title="maxsieve",
        version=__version__,
        description="Exact top-K search and reranking under late interaction.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    for kind in FAILURES:
        app.add_exception_handler(kind, on_failure)
    for routes in (rerank_routes.router, search_routes.router, document_routes.router, router, schema.router):
        app.include_router(routes)
    page = page_routes()
    app.include_router(page)
    _add_mcp(app, service)
    return Guard(app, service, frozenset(route.path for route in page.routes if hasattr(route, "path")))


def _add_mcp(app: FastAPI, service: Service) -> None:
    """Adds the endpoint for agents, if its package is installed (extra ``maxsieve[mcp]``)."""
    if find_spec("mcp") is None:
        return
    from maxsieve.service.agents.http import PATH, AgentEndpoint
    from maxsieve.service.agents.library import Library
    from maxsieve.service.agents.server import AgentServer

    endpoint = AgentEndpoint(AgentServer(Library(service), admit=False), service.settings.body_bytes)
    app.router.routes.append(Route(PATH, endpoint, methods=["POST"]))


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
    broken = await service.examine(
        lambda: [name for name in service.collections if not _can_be_searched(service, name)]
    )
    if broken:
        return problem(503, f"these collections can't be searched now: {', '.join(broken)}")
    return answer({"status": "ok"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **documented()})
async def metrics(service: ServiceDep) -> Response:
    """Counts for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _can_be_searched(service: Service, name: str) -> bool:
    try:
        with service.collections[name].using():
            return True
    except (MaxsieveError, OSError, ValueError) as failure:
        logger.error("%s: %s", name, failure)
        return False


TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}

INDEX = "index.html"


def page_routes(folder: Path = Path(__file__).parent / "page") -> APIRouter:
    """A route for each file of the page; ``/`` for ``index.html``."""
    router = APIRouter(include_in_schema=False)
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    for file in files:
        if file.suffix in TYPES and file.is_file():
            path = "/" if file.name == INDEX else f"/{file.name}"
            router.add_api_route(path, _sender(file.read_bytes(), TYPES[file.suffix]), methods=["GET", "HEAD"])
    router.add_api_route("/policies.js", _sender(policies_module(), TYPES[".js"]), methods=["GET", "HEAD"])
    return router


def policies_module() -> bytes:
    """The registry of policies, as a module for the page."""
    kinds = {
        kind.name: {
            "label": kind.policy.__name__,
            "guarantee": kind.guarantee,
            "summary": kind.summary,
            "parameters": [{**parameter._asdict(), "type": parameter.type.__name__} for parameter in kind.parameters],
        }
        for kind in POLICIES.values()
    }
    return f"export const POLICIES = {json.dumps(kinds)};\n".encode()


def _sender(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    return send

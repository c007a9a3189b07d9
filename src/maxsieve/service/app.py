"""The application: routes, error handlers, and the guard around all of them."""

from __future__ import annotations

from importlib.util import find_spec

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp

from maxsieve import __version__
from maxsieve.errors import MaxsieveError
from maxsieve.service import document_routes, health, picture_routes, rerank_routes, schema, search_routes
from maxsieve.service.failures import on_failure
from maxsieve.service.middleware import Guard
from maxsieve.service.service import Service
from maxsieve.service.static import page_routes

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
    for module in (rerank_routes, search_routes, document_routes, picture_routes, health, schema):
        app.include_router(module.router)
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

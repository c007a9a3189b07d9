"""The page: files of this package, read when the service starts. Paths of requests are never used to open files."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.policies import POLICIES

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

"""``/openapi.json``, and the same as an HTML page, which loads nothing from elsewhere and has no scripts."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.failures import answer, documented

router = APIRouter(tags=["health"])


@router.get("/openapi.json", responses={200: {"content": {"application/json": {}}}, **documented()})
async def openapi(request: Request) -> Response:
    """The schema of all routes."""
    app: FastAPI = request.app
    return answer(app.openapi())


@router.get("/docs", response_class=Response, responses={200: {"content": {"text/html": {}}}, **documented()})
async def docs(request: Request) -> Response:
    """The schema as a page."""
    app: FastAPI = request.app
    return Response(_page(app.openapi()), media_type="text/html; charset=utf-8")


def _page(schema: dict[str, Any]) -> str:
    shapes: dict[str, Any] = schema["components"]["schemas"]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(schema['info']['title'])}: routes</title></head><body>",
        f"<h1>{escape(schema['info']['title'])} {escape(schema['info']['version'])}</h1>",
        '<p>The same for programs: <a href="/openapi.json">openapi.json</a></p><h2>Routes</h2>',
    ]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h3><code>{method.upper()} {escape(path)}</code></h3>")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p><ul>")
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body is not None:
                parts.append(f"<li>body: {_kind(body)}</li>")
            for status, response in operation["responses"].items():
                content = response.get("content", {}).get("application/json", {}).get("schema")
                kind = f": {_kind(content)}" if content and status.startswith("2") else ""
                parts.append(f"<li>{escape(status)} {escape(response.get('description', ''))}{kind}</li>")
            parts.append("</ul>")
    parts.append("<h2>Shapes</h2>")
    for name, shape in sorted(shapes.items()):
        parts.append(f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(shape.get("description", ""))}</p>')
        if shape.get("properties"):
            parts.append("<table><tr><th>field</th><th>type</th><th>meaning</th></tr>")
            needed = shape.get("required", [])
            for field, kind in shape["properties"].items():
                default = "" if field in needed or "default" not in kind else f"; default {kind['default']!r}"
                meaning = escape(kind.get("description", "") + default)
                star = " (required)" if field in needed else ""
                parts.append(
                    f"<tr><td><code>{escape(field)}</code>{star}</td><td>{_kind(kind)}</td><td>{meaning}</td></tr>"
                )
            parts.append("</table>")
    return "\n".join([*parts, "</body></html>"])


def _kind(schema: dict[str, Any]) -> str:
    """A short description of a type."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for many in ("anyOf", "oneOf"):
        if many in schema:
            return " or ".join(map(_kind, schema[many]))
    if "const" in schema or "enum" in schema:
        return " or ".join(f"<code>{escape(repr(one))}</code>" for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return escape(str(schema.get("type", "anything")))

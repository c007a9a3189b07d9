"""The route that serves the pictures of pages. They are files of the collection; no path of a request is opened."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.deadlines import Seconds
from maxsieve.service.document_routes import known_id
from maxsieve.service.failures import documented
from maxsieve.service.search_routes import Name
from maxsieve.service.service import ServiceDep, cancelled_on_disconnect
from maxsieve.service.strict import StrictRoute
from maxsieve.text.pages.page import KIND

router = APIRouter(route_class=StrictRoute, tags=["documents"])

PageId = Annotated[str, Path(max_length=10_000, description="The id of a page, percent-encoded.")]
CACHED = {"Cache-Control": "private, no-cache"}
"""A browser keeps a picture, and asks each time whether it is still the same: a page may change."""


@router.get(
    "/v1/collections/{name}/pages/{id:path}",
    response_class=Response,
    responses={**documented(), 200: {"content": {KIND: {}}}, 304: {"description": "The picture has not changed."}},
)
async def picture(name: Name, id: PageId, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """The picture of a page, as WebP, with at most 1,600 pixels a side."""
    opened = service.collections[name]
    known = request.headers.get("if-none-match", "")

    def work() -> Response:
        with opened.using() as collection:
            page = collection.page_facts(known_id(id, collection))
            if page is None:
                raise HTTPException(404, "this document is not a page: it has no picture")
            tag = {**CACHED, "ETag": f'"{page.digest}"'}
            if tag["ETag"] in known:
                return Response(status_code=304, headers=tag)
            return Response(collection.pictures.read(page.digest), media_type=KIND, headers=tag)

    return await cancelled_on_disconnect(request, service.run_in_thread(work), seconds)

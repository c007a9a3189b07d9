"""Routes of documents: their texts, the pictures of pages, and changes if the service was started with ``--writable``.

Pictures are files of the collection; no path of a request is opened.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.failures import answer, documented
from maxsieve.service.open_collections import OpenCollection
from maxsieve.service.schemas import AddAnswer, AddRequest, DeleteAnswer, DeleteRequest, DocumentAnswer
from maxsieve.service.search_routes import Name
from maxsieve.service.service import Service, ServiceDep, cancelled_on_disconnect
from maxsieve.service.settings import CHARACTERS
from maxsieve.service.strict import Seconds, StrictRoute
from maxsieve.text.collection.collection import Collection
from maxsieve.text.pages.page import KIND

router = APIRouter(route_class=StrictRoute, tags=["documents"])
PATH = "/v1/collections/{name}/documents"

AskedId = Annotated[str, Query(max_length=10_000, description="Its id.")]
PageId = Annotated[str, Path(max_length=10_000, description="The id of a page, percent-encoded.")]
CACHED = {"Cache-Control": "private, no-cache"}
"""A browser keeps a picture, and asks each time whether it is still the same: a page may change."""


@router.get(PATH, response_model=DocumentAnswer, responses=documented())
async def document(name: Name, id: AskedId, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """A document as it was added, in full."""

    def work() -> Response:
        return answer(stored_document(service.collections[name], id))

    return await cancelled_on_disconnect(request, service.run_large(work), seconds)


def stored_document(opened: OpenCollection, id: str) -> dict[str, Any]:
    """A document by its id, which is text or the text of a number."""
    with opened.using() as collection:
        known = known_id(id, collection)
        return {"id": known, "text": collection.text(known), "metadata": collection.metadata(known)}


@router.post(PATH, response_model=AddAnswer, responses=documented(409, 423, 507))
async def add(name: Name, body: AddRequest, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """Add or replace documents. A document that is already stored with the same text and metadata is skipped."""
    return answer(await cancelled_on_disconnect(request, add_documents(service, name, body), seconds))


async def add_documents(service: Service, name: str, body: AddRequest) -> dict[str, int]:
    """Adds documents, and counts them."""
    opened = _writable(service, name)
    if sum(len(one.text) for one in body.documents) > CHARACTERS:
        raise HTTPException(413, f"the documents have more than {CHARACTERS:,} characters in total")
    given = {one.id is None for one in body.documents}
    if len(given) > 1:
        raise HTTPException(422, "documents: give all of them an id, or none")

    def work() -> dict[str, int]:
        with opened.using() as collection:
            added = collection.add(
                [one.text for one in body.documents],
                None if given == {True} else [one.id for one in body.documents if one.id is not None],
                [one.metadata for one in body.documents],
                replace=body.replace,
            )
        return added._asdict()

    return await service.write(work)


@router.delete(PATH, response_model=DeleteAnswer, responses=documented(423, 507))
async def delete(name: Name, body: DeleteRequest, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """Delete documents. If one of the ids is unknown, nothing is deleted."""
    return answer(await cancelled_on_disconnect(request, delete_documents(service, name, body), seconds))


async def delete_documents(service: Service, name: str, body: DeleteRequest) -> dict[str, int]:
    """Deletes documents, and counts them."""
    opened = _writable(service, name)

    def work() -> dict[str, int]:
        with opened.using() as collection:
            collection.delete(body.ids)
        return {"deleted": len(set(body.ids))}

    return await service.write(work)


def known_id(asked: str, collection: Collection) -> str | int:
    """The id of a document from a URL, where all ids are text; `KeyError` if there is none."""
    known = int(asked) if asked not in collection and re.fullmatch(r"0|-?[1-9][0-9]{0,17}", asked) else asked
    if known not in collection:
        raise KeyError(f"no document has the id {known!r}")
    return known


def _writable(service: Service, name: str) -> OpenCollection:
    opened = service.collections[name]
    if not service.settings.writable:
        raise HTTPException(403, "this service is read-only: it was started without 'writable'")
    return opened


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

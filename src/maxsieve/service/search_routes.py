"""Routes that search the collections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from math import isfinite
from time import perf_counter
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, HTTPException, Path
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.bodies import Rows
from maxsieve.service.failures import answer, documented
from maxsieve.service.open_collections import OpenCollection
from maxsieve.service.schemas import CollectionFacts, CollectionList, SearchAnswer, SearchBody
from maxsieve.service.service import Found, SearchAsk, SearchKey, Service, ServiceDep, cancelled_on_disconnect
from maxsieve.service.settings import MANY_HITS, MAPS, MATCHES, TRACED_TOKENS
from maxsieve.service.strict import Seconds, StrictRoute
from maxsieve.text.collection.answers import guarantee_sentence, to_plain
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.snippets import excerpt, marks_of, title_of
from maxsieve.text.collection.words import WordMatch, whole_word
from maxsieve.text.encoders.encoder import query_spans_of

router = APIRouter(route_class=StrictRoute, tags=["search"])

SNIPPET = 320
"""How many characters a snippet has: four lines of the page."""

Name = Annotated[str, Path(max_length=100, description="A collection that the service was started with.")]


@router.get("/v1/collections", response_model=CollectionList, responses=documented())
async def collections(request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """All collections of the service."""

    def facts() -> Response:
        return answer({"collections": [_facts(service, name) for name in service.collections]})

    return await cancelled_on_disconnect(request, service.run_in_thread(facts), seconds)


@router.get("/v1/collections/{name}", response_model=CollectionFacts, responses=documented())
async def collection(name: Name, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """Facts about a collection."""
    return await cancelled_on_disconnect(request, service.run_in_thread(lambda: answer(_facts(service, name))), seconds)


@router.post("/v1/collections/{name}/search", response_model=SearchAnswer, responses=documented())
async def search(name: Name, body: SearchBody, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """Find the best documents of a collection for a text or for token vectors."""
    return await cancelled_on_disconnect(request, _search(name, body, service), seconds)


async def _search(name: str, body: SearchBody, service: Service) -> Response:
    ask, found, times = await find(name, body, service)
    many = (body.offset + body.k) * body.per_document > MANY_HITS
    run = service.run_large if many or body.trace else service.run_in_thread
    return await run(lambda: answer(_plain(name, body, ask, found, times)))


async def find(name: str, body: SearchBody, service: Service) -> tuple[SearchAsk, Found, dict[str, float]]:
    """The query as it was searched, the hits, and the seconds that each step took."""
    opened = service.collections[name]
    options = body.options(threads=service.settings.threads, timeout=service.settings.deadline)
    started = perf_counter()
    if body.query is not None:
        if _may_be_too_much(body, len(body.query)):
            await service.run_large(lambda: _check_text(opened, body, body.query or ""))
        [rows], encoder = await service.encode(name, [body.query], queries=True)
        if not len(rows):
            raise HTTPException(400, f"the query is {body.query!r}, which contains nothing to search for")
        ask = SearchAsk(body.query, rows, encoder)
    else:
        ask = SearchAsk("", _rows(body.vectors or []), None)
    encoded, tokens = perf_counter(), len(ask.rows)
    if _may_be_too_much(body, tokens):
        await service.run_large(lambda: _check_tokens(opened, body, tokens))
    found = await service.search(SearchKey(opened.name, body.group, options), ask)
    service.metrics.searches.labels(name, found.hits.report.guarantee).inc()
    if body.query is not None and not body.offset:
        service.log_query(name, options, body.query)
    return ask, found, {"encode": encoded - started, "search": perf_counter() - encoded}


def _may_be_too_much(body: SearchBody, tokens: int) -> bool:
    """Whether `_check_tokens` has something to check, if the query has at most so many tokens."""
    return (body.trace and tokens > TRACED_TOKENS) or (body.matches and body.listed * tokens > MATCHES)


def _check_text(opened: OpenCollection, body: SearchBody, query: str) -> None:
    """Refuses a text with too many tokens before it is encoded, which would take far longer than to count them."""
    with opened.using() as collection:
        encoder = collection.encoder
    if (spans := query_spans_of(encoder, query)) is not None:
        _check_tokens(opened, body, len(spans))


def _check_tokens(opened: OpenCollection, body: SearchBody, tokens: int) -> None:
    """Refuses a search with too long a trace, or whose hits would list too many matches."""
    if body.trace and tokens > TRACED_TOKENS:
        raise HTTPException(
            400, f"trace: a query that is traced may have {TRACED_TOKENS} tokens, and this one has {tokens:,}"
        )
    with opened.using() as collection:
        passages = len(collection.index)
        hits = min(body.listed, passages if body.by == "passage" else len(collection) * body.per_document, passages)
    if body.matches and hits * tokens > MATCHES:
        raise HTTPException(
            400,
            f"matches: {hits:,} hits for {tokens:,} tokens of the query are too many to list their matches; "
            f'ask for "k": {max(1, MATCHES // tokens // body.per_document)} or less, or send "matches": false',
        )


def _rows(vectors: Sequence[Sequence[float]] | Rows) -> NDArray[np.float32]:
    """The rows of a query that was sent as vectors."""
    lengths = sorted(set(map(len, vectors)))
    if len(lengths) > 1:
        raise HTTPException(400, f"vectors: all rows must have the same length, not {lengths[0]} and {lengths[-1]}")
    with np.errstate(over="ignore"):
        rows = np.array(vectors, np.float32)
    if not np.isfinite(rows).all():
        raise HTTPException(400, "vectors: a number is too large for 32 bits")
    return rows


def _plain(name: str, body: SearchBody, ask: SearchAsk, found: Found, seconds: dict[str, float]) -> dict[str, Any]:
    """The answer as JSON-compatible data."""
    hits, report = found.hits, found.hits.report
    shown = hits[body.offset :] if body.offset else hits
    plain = to_plain(shown, explain=body.matches)
    if body.maps:
        _add_maps(shown, plain["hits"])
    for hit in plain["hits"]:
        hit["rank"] += body.offset
        if body.matches:
            for passage in (hit, *hit.get("passages", ())):
                passage |= _marked(passage)
        if "picture" in hit:
            hit["picture"]["path"] = f"/v1/collections/{quote(name)}/pages/{quote(str(hit['id']), safe='')}"
    return {
        "hits": plain["hits"],
        "report": {
            **plain["report"],
            "encode_seconds": seconds["encode"],
            "sentence": guarantee_sentence(hits, body.chosen_policy),
            "rounds": [
                {**one._asdict(), "threshold": one.threshold if isfinite(one.threshold) else None}
                for one in report.rounds
            ],
            "together": found.together,
        },
        "query": {
            "text": body.query,
            "tokens": len(ask.rows),
            "words": [] if body.query is None else _words(body.query, ask),
        },
        "timing_ms": {
            **{name: 1e3 * value for name, value in seconds.items()},
            **{f"search.{name}": 1e3 * value for name, value in report.stages.items()},
        },
        **({} if hits.trace is None else {"trace": hits.trace.to_dict()}),
    }


def _add_maps(hits: TextHits, plain: list[dict[str, Any]]) -> None:
    """Adds maps to hits that are pages of patches, up to the limit on an answer."""
    left = MAPS
    for rank, facts in enumerate(hits.pages):
        if facts is None or not facts.grids:
            continue
        left -= hits.query_tokens * sum(grid.cells for grid in facts.grids)
        if left < 0:
            return
        plain[rank]["picture"]["grids"] = [
            {"rows": grid.rows, "columns": grid.columns, "box": list(grid.box)} for grid in facts.grids
        ]
        plain[rank]["picture"]["maps"] = [
            {"query_start": start, "tokens": tokens, "values": _as_bytes(values)}
            for start, tokens, values in hits.patch_maps(rank)
        ]


def _as_bytes(values: NDArray[np.float32]) -> str:
    """Numbers between 0 and 1 as bytes, in base64."""
    return b64encode(np.rint(255 * values).astype(np.uint8).tobytes()).decode()


def _marked(hit: dict[str, Any]) -> dict[str, Any]:
    """The matches of a hit, the words to mark, and the part of its text to show."""
    marks = marks_of([WordMatch(**one) for one in hit["matches"]])
    start, end = excerpt(hit["text"], marks, SNIPPET, skip=title_of(hit["text"], hit.get("metadata"))[1])
    return {
        "matches": [
            {
                "query_word": one["query"],
                "query_start": one["query_start"],
                "query_end": one["query_start"] + len(one["query"]),
                "word": one["document"],
                "start": one["start"],
                "end": one["end"],
                "similarity": one["similarity"],
                **({"box": one["box"]} if "box" in one else {}),
            }
            for one in hit["matches"]
        ],
        "marks": [{"start": mark.start, "end": mark.end, "grade": mark.grade} for mark in marks if mark.grade],
        "snippet": {"start": start, "end": end},
    }


def _words(query: str, ask: SearchAsk) -> list[dict[str, Any]]:
    """The words of a query, if the encoder knows them."""
    asked = query_spans_of(ask.encoder, query) or ()
    spans = dict.fromkeys(whole_word(query, span) for span in asked)
    return [{"word": query[start:end], "start": start, "end": end} for start, end in spans if start < end]


def _facts(service: Service, name: str) -> dict[str, Any]:
    with service.collections[name].using() as collection:
        facts = collection.info()
    calibration = facts["calibration"]
    return {
        "name": name,
        "documents": facts["documents"],
        "tokens": facts["tokens"],
        "dim": facts["dim"],
        "store": facts["store"],
        "encoder": facts["encoder"]["name"],
        "calibrated": calibration is not None,
        "calibration": calibration and {name: calibration[name] for name in ("queries", "k", "holds")},
        "shards": len(facts.get("shards", ())),
        "writable": service.settings.writable,
    }

"""Routes that rerank texts, compatible with the rerankers' own services."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from maxsieve.service.dialects import RankedDocument, RankedDocuments, RerankReply, RerankRequest
from maxsieve.service.failures import answer, documented
from maxsieve.service.service import RERANKING, Service, ServiceDep, cancelled_on_disconnect
from maxsieve.service.settings import CHARACTERS
from maxsieve.service.strict import Seconds, StrictRoute
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.rerank import cut_documents, rerank_vectors
from maxsieve.text.passages import Document, Keys, sizes_for, splitter_for

router = APIRouter(route_class=StrictRoute, tags=["rerank"])


@router.post("/rerank", response_model=RerankReply, responses=documented())
@router.post("/v1/rerank", response_model=RerankReply, responses=documented())
@router.post("/v2/rerank", response_model=RerankReply, responses=documented())
async def rerank(body: RerankRequest, request: Request, service: ServiceDep, seconds: Seconds) -> Response:
    """Order texts by how well they answer a query, for the clients of Cohere, Jina, Voyage, TEI and Infinity."""
    return await cancelled_on_disconnect(request, _rerank(body, service), seconds)


async def _rerank(body: RerankRequest, service: Service) -> Response:
    texts = await service.run_in_thread(body.texts)
    if sum(map(len, texts)) > CHARACTERS:
        raise HTTPException(413, f"the documents have more than {CHARACTERS:,} characters in total")
    ranking = await rank(body.query, texts, body.top() or len(texts), service)
    return await service.run_in_thread(lambda: answer(body.reply(ranking, service.encoder.name)))


async def rank(query: str, texts: Sequence[str], k: int, service: Service) -> RankedDocuments:
    """The k best texts, by position. A long text has the score of its best passage."""
    split = splitter_for(service.encoder, sizes_for(service.encoder))
    documents = [Document(place, text, None) for place, text in enumerate(texts)]
    passages = await service.run_in_thread(lambda: cut_documents(documents, split))
    [rows], encoder = await service.encode(RERANKING, [query], queries=True)
    if not len(rows):
        raise HTTPException(400, f"the query is {query!r}, which contains nothing to search for")
    vectors, _ = await service.encode(RERANKING, [one.encoded for _, one in passages], queries=False)
    keys = Keys(passages=split.cuts)
    hits = await service.run_in_thread(lambda: rerank_vectors(query, rows, passages, vectors, k, None, encoder, keys))
    service.metrics.reranked.inc(len(texts))
    return RankedDocuments(scored(hits, len(rows), len(texts), k), len(rows) + sum(map(len, vectors)))


def scored(hits: TextHits, tokens: int, count: int, k: int) -> list[RankedDocument]:
    """Hits with their relevance; texts without a token, which can't be hits, come last."""
    found = [RankedDocument(int(one), relevance(score, tokens), score) for one, score in hits]
    missing = sorted(set(range(count)) - {one.place for one in found}) if len(found) < k else []
    return (found + [RankedDocument(place, 0.0, None) for place in missing])[:k]


def relevance(score: float, tokens: int) -> float:
    """A MaxSim score as a number in [0, 1]: the mean similarity of the query's tokens, from [-1, 1].

    >>> relevance(3.0, 4), relevance(-4.0, 4), relevance(4.000001, 4)
    (0.875, 0.0, 1.0)
    """
    return min(1.0, max(0.0, 0.5 + 0.5 * score / tokens))

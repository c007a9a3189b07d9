"""Requests and answers of the rerankers' APIs. They are recognised by their fields, not by their paths.

======================================  ========================  =========================================
API                                     recognised by             answer
======================================  ========================  =========================================
Text Embeddings Inference               ``texts``                 a list of ``index``, ``score``
Voyage                                  ``top_k``/``truncation``  ``data``, ``usage``
Cohere v1 and v2, Jina, Infinity        anything else             ``results``, ``usage``, ``meta``
======================================  ========================  =========================================
"""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from maxsieve.service.settings import CHARACTERS, DOCUMENTS, QUERY_CHARACTERS

Text = Annotated[str, Field(max_length=CHARACTERS)]
Query = Annotated[str, Field(max_length=QUERY_CHARACTERS, description="The text to rank documents by.")]
Model = Annotated[
    str | None, Field(max_length=1000, description="Echoed: the encoder is chosen when the service is started.")
]
Top = Annotated[int, Field(ge=1, description="How many to return; all of them by default.")] | None


class RankedDocument(NamedTuple):
    """A document's position in the request, its relevance, and its MaxSim score (None if it has no token)."""

    place: int
    relevance: float
    score: float | None


class RankedDocuments(NamedTuple):
    """Documents, best first, and how many tokens were encoded."""

    documents: list[RankedDocument]
    tokens: int


class Dialect(BaseModel):
    """The fields that all requests have. Unknown fields are ignored, so that newer clients work."""

    model_config = ConfigDict(extra="ignore", strict=True)

    query: Query
    model: Model = None


class DocumentsDialect(Dialect):
    """Cohere v2 and v1, Jina, Infinity."""

    documents: Annotated[list[Text | dict[str, Any]], Field(min_length=1, max_length=DOCUMENTS, fail_fast=True)]
    top_n: Top = None
    return_documents: bool | None = None
    rank_fields: Annotated[list[str], Field(max_length=100, fail_fast=True)] | None = Field(
        None, description="If documents are objects: the fields to read, each once, 'text' by default."
    )
    raw_scores: bool | None = Field(None, description="Infinity: whether relevance_score is the sum of similarities.")
    max_tokens_per_doc: int | None = Field(None, description="Ignored: long documents are read whole.")
    max_chunks_per_doc: int | None = Field(None, description="Ignored: long documents are read whole.")

    def texts(self) -> list[str]:
        """The texts to rerank."""
        fields = list(dict.fromkeys(self.rank_fields or ["text"]))
        return [_text_of(one, fields, place) for place, one in enumerate(self.documents)]

    def top(self) -> int | None:
        """How many documents to return."""
        return self.top_n

    def reply(self, ranking: RankedDocuments, encoder: str) -> dict[str, Any]:
        """The answer, as the clients of all four expect it."""
        results = []
        for one in ranking.documents:
            relevance = one.score if self.raw_scores and one.score is not None else one.relevance
            result: dict[str, Any] = {"index": one.place, "relevance_score": relevance, "raw_score": one.score}
            if self.return_documents:
                document = self.documents[one.place]
                infinity = self.raw_scores is not None
                result["document"] = {"text": document} if isinstance(document, str) and not infinity else document
            results.append(result)
        return {
            "id": str(uuid.uuid4()),
            "object": "rerank",
            "created": int(time.time()),
            "model": self.model or encoder,
            "results": results,
            "usage": {"total_tokens": ranking.tokens, "prompt_tokens": ranking.tokens},
            "meta": {
                "api_version": {"version": "2"},
                "billed_units": {"search_units": 0},
                "tokens": {"input_tokens": ranking.tokens},
            },
        }


class VoyageDialect(Dialect):
    """Voyage."""

    documents: Annotated[list[Text], Field(min_length=1, max_length=DOCUMENTS, fail_fast=True)]
    top_k: Top = None
    return_documents: bool | None = None
    truncation: bool | None = Field(None, description="Ignored: long documents are read whole.")

    def texts(self) -> list[str]:
        """The texts to rerank."""
        return self.documents

    def top(self) -> int | None:
        """How many documents to return."""
        return self.top_k

    def reply(self, ranking: RankedDocuments, encoder: str) -> dict[str, Any]:
        """The answer, as Voyage's clients expect it."""
        return {
            "object": "list",
            "data": [
                {
                    "index": one.place,
                    "relevance_score": one.relevance,
                    "raw_score": one.score,
                    **({"document": self.documents[one.place]} if self.return_documents else {}),
                }
                for one in ranking.documents
            ],
            "model": self.model or encoder,
            "usage": {"total_tokens": ranking.tokens},
        }


class TextsDialect(Dialect):
    """Text Embeddings Inference."""

    texts_: Annotated[list[Text], Field(alias="texts", min_length=1, max_length=DOCUMENTS, fail_fast=True)]
    top_n: Top = None
    raw_scores: bool | None = Field(None, description="Whether score is the sum of similarities.")
    return_text: bool | None = None
    truncate: bool | None = Field(None, description="Ignored: long documents are read whole.")

    def texts(self) -> list[str]:
        """The texts to rerank."""
        return self.texts_

    def top(self) -> int | None:
        """How many documents to return."""
        return self.top_n

    def reply(self, ranking: RankedDocuments, encoder: str) -> list[dict[str, Any]]:
        """The answer, as clients of TEI expect it."""
        return [
            {
                "index": one.place,
                "score": one.score if self.raw_scores and one.score is not None else one.relevance,
                "raw_score": one.score,
                **({"text": self.texts_[one.place]} if self.return_text else {}),
            }
            for one in ranking.documents
        ]


def _dialect(body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    if "texts" in fields or isinstance(body, TextsDialect):
        return "texts"
    voyage = "top_k" in fields or "truncation" in fields or isinstance(body, VoyageDialect)
    return "voyage" if voyage else "documents"


RerankRequest = Annotated[
    Annotated[DocumentsDialect, Tag("documents")]
    | Annotated[VoyageDialect, Tag("voyage")]
    | Annotated[TextsDialect, Tag("texts")],
    Discriminator(_dialect),
]


def _text_of(document: str | dict[str, Any], fields: list[str], place: int) -> str:
    """The text of a document; if it is an object, its fields in order."""
    if isinstance(document, str):
        return document
    parts = [document[name] for name in fields if document.get(name) is not None]
    if not parts or not all(isinstance(part, (str, int, float)) for part in parts):
        wanted = ", ".join(fields)[:200]
        raise ValueError(f"documents.{place}: the fields {wanted} are all missing, or one of them is not text")
    return "\n".join(map(str, parts))


class Result(BaseModel):
    """A document: its position in the request, its relevance in [0, 1], and the MaxSim score behind it."""

    index: int
    relevance_score: float
    raw_score: float | None = Field(description="MaxSim; null for a text without a token.")
    document: Any = None


class Usage(BaseModel):
    """How many tokens were encoded."""

    total_tokens: int
    prompt_tokens: int | None = None


class DocumentsReply(BaseModel):
    """For Cohere's, Jina's and Infinity's clients."""

    id: str
    object: Literal["rerank"]
    created: int
    model: str
    results: list[Result]
    usage: Usage
    meta: dict[str, Any]


class VoyageReply(BaseModel):
    """For Voyage's clients."""

    object: Literal["list"]
    data: list[Result]
    model: str
    usage: Usage


class TextsResult(BaseModel):
    """For clients of Text Embeddings Inference."""

    index: int
    score: float
    raw_score: float | None
    text: str | None = None


RerankReply = DocumentsReply | VoyageReply | list[TextsResult]

"""rerankers: a ranker that returns its `RankedResults`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.ids import Id
from maxsieve.text.collection.rerank import rerank
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, to_encoder

optional("rerankers", package="rerankers>=0.10")

from rerankers.documents import Document  # noqa: E402
from rerankers.models.ranker import BaseRanker  # noqa: E402
from rerankers.results import RankedResults, Result  # noqa: E402


class MaxsieveRanker(BaseRanker):
    """Ranks texts by late interaction; a score is the mean similarity per query token, as in its ColBERT ranker.

    ``model_name_or_path`` is the name of an encoder (``"minilm"``, a folder, ``"st:NAME"``), or an encoder.
    ``verbose`` is accepted because every ranker has it; nothing is printed.
    """

    def __init__(self, model_name_or_path: str | Encoder = DEFAULT_ENCODER, verbose: int = 0) -> None:
        self.encoder = to_encoder(model_name_or_path)
        self.verbose = verbose

    def rank(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[Id] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
    ) -> RankedResults:
        """All documents, best first. A document without tokens comes last, and has no score.

        Documents keep their ids and metadata; ``doc_ids`` and ``metadata`` replace them, in copies. A document without
        an id gets its position as id, from 0.
        """
        documents = _documents(docs, doc_ids, metadata)
        hits = rerank(query, [document.text for document in documents], None, encoder=self.encoder)
        scores = {int(place): score / hits.query_tokens for place, score in hits}
        places = [*scores, *(place for place in range(len(documents)) if place not in scores)]
        results = [
            Result(document=documents[place], score=scores.get(place), rank=rank)
            for rank, place in enumerate(places, start=1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)

    def score(self, query: str, doc: str) -> float:
        """The score of one text; minus infinity if it has no token."""
        [result] = self.rank(query, [doc])
        return -float("inf") if result.score is None else float(result.score)


def _documents(
    docs: str | Document | Sequence[str | Document], ids: Sequence[Id] | None, metadata: Sequence[dict[str, Any]] | None
) -> list[Document]:
    given = [docs] if isinstance(docs, (str, Document)) else list(docs)
    for what, values in (("doc_ids", ids), ("metadata", metadata)):
        if values is not None and len(values) != len(given):
            raise ValueError(f"there are {len(given)} documents but {len(values)} {what}")
    documents = []
    for place, item in enumerate(given):
        document = Document(item) if isinstance(item, str) else item
        if not isinstance(document, Document):
            raise TypeError(f"docs: document {place} is {type(item).__name__}, not str or rerankers.Document")
        if not isinstance(document.text, str):
            raise TypeError(f"docs: document {place} has no text: this ranker ranks only texts")
        own = place if document.doc_id is None else document.doc_id
        documents.append(
            Document(
                document.text,
                own if ids is None else ids[place],
                document.metadata if metadata is None else metadata[place],
                document.document_type,
                document.image_path,
                document.base64,
            )
        )
    return documents

"""LlamaIndex: a retriever over a collection, and a postprocessor that ranks any nodes."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from maxsieve.adapters.retrieval import (
    KEY,
    Retrieval,
    RetrievedDocument,
    TextPart,
    check_part,
    find,
    to_collection,
    with_unit,
)
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.options import SearchOptions
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.rerank import rerank
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, to_encoder

optional("llama_index.core", package="llama-index-core>=0.14")

from llama_index.core.bridge.pydantic import Field, PrivateAttr  # noqa: E402
from llama_index.core.callbacks import CBEventType, EventPayload  # noqa: E402
from llama_index.core.instrumentation import get_dispatcher  # noqa: E402
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent  # noqa: E402
from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.retrievers import BaseRetriever  # noqa: E402
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode  # noqa: E402

_dispatcher = get_dispatcher(__name__)


class MaxsieveRetriever(BaseRetriever):
    """Retrieves the best passages of a collection as nodes. ``aretrieve`` does not block the event loop.

    collection
        a `maxsieve.Collection`, or the path of one that was made with a built-in encoder.
    similarity_top_k
        how many nodes.
    text
        what a node is: a ``"passage"``, or the whole ``"document"``. With ``search_kwargs={"by": "document"}``,
        passages are the best of as many documents.
    search_kwargs
        further arguments of `Collection.search`: ``policy``, ``hybrid``, ``first_stage``, ...
    with_guarantee
        adds the guarantee to the metadata of each node, under ``"maxsieve"``, hidden from models.
    others
        arguments of `BaseRetriever`: ``callback_manager``, ``object_map``, ``objects``, ``verbose``.
    """

    def __init__(
        self,
        collection: Collection | str | os.PathLike[str],
        similarity_top_k: int = 2,
        *,
        text: TextPart = "passage",
        search_kwargs: dict[str, Any] | None = None,
        with_guarantee: bool = False,
        **others: Any,
    ) -> None:
        self._collection = to_collection(collection)
        self._similarity_top_k = as_count(similarity_top_k, "similarity_top_k", at_least=1)
        self._text = check_part(text)
        self._search_kwargs = dict(search_kwargs or {})
        self._with_guarantee = with_guarantee
        super().__init__(**others)

    @property
    def similarity_top_k(self) -> int:
        """How many nodes."""
        return self._similarity_top_k

    @similarity_top_k.setter
    def similarity_top_k(self, similarity_top_k: int) -> None:
        self._similarity_top_k = as_count(similarity_top_k, "similarity_top_k", at_least=1)

    def retrieve_many(self, queries: list[str]) -> list[list[NodeWithScore]]:
        """`retrieve` for many queries at once: the same nodes, in less time; without callbacks."""
        keywords = with_unit(self._text, self._search_kwargs)
        options = SearchOptions.of_many(self._similarity_top_k, keywords, len(queries))
        answers = find(self._collection, queries, options, self._text)
        return [[self._node(document, answer) for document in answer.found] for answer in answers]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.retrieve_many([query_bundle.query_str])[0]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _node(self, document: RetrievedDocument, answer: Retrieval) -> NodeWithScore:
        metadata = document.metadata
        if self._with_guarantee:
            metadata[KEY] = {**metadata.get(KEY, {}), **answer.promise}
        own = [KEY] if KEY in metadata else []
        node = TextNode(
            id_=document.id,
            text=document.text,
            metadata=metadata,
            start_char_idx=document.start,
            end_char_idx=document.start + len(document.text),
            excluded_llm_metadata_keys=own,
            excluded_embed_metadata_keys=own,
        )
        return NodeWithScore(node=node, score=document.score)


class MaxsieveRerank(BaseNodePostprocessor):
    """Ranks any nodes by their text as it is embedded (``MetadataMode.EMBED``). A score is a mean similarity.

    top_n
        how many nodes.
    encoder
        a name (``"minilm"``, a folder, ``"st:NAME"``) or an encoder.
    keep_retrieval_score
        keeps the previous score of a node in its metadata, as ``retrieval_score``.
    """

    encoder: str = Field(description="Name of the encoder.")
    top_n: int = Field(description="Number of nodes to return, best first.")
    keep_retrieval_score: bool = Field(default=False, description="Whether to keep the old score in the metadata.")
    _loaded: Any = PrivateAttr()

    def __init__(
        self,
        top_n: int = 5,
        encoder: str | Encoder = DEFAULT_ENCODER,
        *,
        keep_retrieval_score: bool = False,
        **others: Any,
    ) -> None:
        loaded = to_encoder(encoder)
        super().__init__(
            encoder=loaded.name,
            top_n=as_count(top_n, "top_n", at_least=1),
            keep_retrieval_score=keep_retrieval_score,
            **others,
        )
        self._loaded = loaded

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialised."""
        return "MaxsieveRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("MaxsieveRerank needs a query: give query_str or query_bundle")
        _dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=self.top_n, model_name=self.encoder))
        payload = {
            EventPayload.NODES: nodes,
            EventPayload.MODEL_NAME: self.encoder,
            EventPayload.QUERY_STR: query_bundle.query_str,
            EventPayload.TOP_K: self.top_n,
        }
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            best = self._rank(nodes, query_bundle.query_str)
            event.on_end(payload={EventPayload.NODES: best})
        _dispatcher.event(ReRankEndEvent(nodes=best))
        return best

    def _rank(self, nodes: list[NodeWithScore], query: str) -> list[NodeWithScore]:
        texts = [node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]
        hits = rerank(query, texts, self.top_n, encoder=self._loaded)
        best = []
        for place, score in hits:
            given = nodes[int(place)]
            node = given.node
            if self.keep_retrieval_score:
                node = node.model_copy(update={"metadata": {**node.metadata, "retrieval_score": given.score}})
            best.append(NodeWithScore(node=node, score=score / hits.query_tokens))
        return best

"""LangChain: a retriever over a collection, and a compressor that ranks any documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from maxsieve.adapters.retrieval import KEY, Retrieval, TextPart, check_part, find, to_collection, with_unit
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.options import SearchOptions
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.rerank import rerank
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, to_encoder

optional("langchain_core", package="langchain-core>=1")

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks  # noqa: E402
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables.config import RunnableConfig, get_config_list, run_in_executor  # noqa: E402
from pydantic import ConfigDict, Field, field_validator  # noqa: E402

T = TypeVar("T")


class MaxsieveRetriever(BaseRetriever):
    """Retrieves the best passages of a collection. Batches are searched together; async calls do not block the loop.

    collection
        a `maxsieve.Collection`, or the path of one that was made with a built-in encoder.
    k
        how many passages, or documents.
    text
        what becomes the ``page_content``, and what ``k`` counts: a ``"passage"``, or the whole ``"document"``. With
        ``search_kwargs={"by": "document"}``, passages are the best of k documents.
    search_kwargs
        further arguments of `Collection.search`: ``policy``, ``hybrid``, ``first_stage``, ...; ``invoke`` accepts them
        and ``k`` as well.
    with_scores
        adds score and guarantee to each document's metadata, under ``"maxsieve"``. Without them, two queries that find
        the same document give equal objects, as `MultiQueryRetriever` needs.
    """

    collection: Collection
    k: int = 4
    text: TextPart = "passage"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    with_scores: bool = False

    model_config = ConfigDict(extra="forbid")

    @field_validator("collection", mode="before")
    @classmethod
    def _open(cls, collection: Any) -> Collection:
        return _for_pydantic(to_collection, collection)

    @field_validator("k", mode="before")
    @classmethod
    def _check_k(cls, k: Any) -> int:
        return _for_pydantic(_count, k, "k")

    @field_validator("text", mode="before")
    @classmethod
    def _check_text(cls, text: Any) -> TextPart:
        return _for_pydantic(check_part, text)

    def batch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """`invoke` for many queries, which are searched together."""
        answers: list[list[Document]]
        try:
            found = self._search(inputs, **kwargs)
        except Exception:  # run one by one, so that each has its own error
            answers = super().batch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        else:
            each = zip(inputs, get_config_list(config, len(inputs)), found, strict=True)
            answers = [self.invoke(*arguments, found=documents) for *arguments, documents in each]
        return answers

    async def abatch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """`ainvoke` for many queries, which are searched together."""
        answers: list[list[Document]]
        try:
            found = await run_in_executor(None, self._search, inputs, **kwargs)
        except Exception:
            answers = await super().abatch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        else:
            each = zip(inputs, get_config_list(config, len(inputs)), found, strict=True)
            answers = await asyncio.gather(
                *(self.ainvoke(*arguments, found=documents) for *arguments, documents in each)
            )
        return answers

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        found: list[Document] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        return self._search([query], **kwargs)[0] if found is None else found

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,
        found: list[Document] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        if found is None:
            [found] = await run_in_executor(None, self._search, [query], **kwargs)
        return found

    def _search(self, queries: list[str], **kwargs: Any) -> list[list[Document]]:
        k, text = kwargs.pop("k", self.k), check_part(kwargs.pop("text", self.text))
        options = SearchOptions.of_many(k, with_unit(text, {**self.search_kwargs, **kwargs}), len(queries))
        answers = find(self.collection, queries, options, text)
        return [self._documents(answer) for answer in answers]

    def _documents(self, answer: Retrieval) -> list[Document]:
        documents = []
        for found in answer.found:
            metadata = found.metadata
            if self.with_scores:
                metadata[KEY] = {**metadata.get(KEY, {}), "score": found.score, **answer.promise}
            documents.append(Document(found.text, id=found.id, metadata=metadata))
        return documents


class MaxsieveRerank(BaseDocumentCompressor):
    """Ranks any documents, for `ContextualCompressionRetriever` and similar classes.

    encoder
        a name (``"minilm"``, a folder, ``"st:NAME"``) or an encoder.
    top_n
        how many documents; None for all documents that have a token.
    """

    encoder: Any = Field(default=DEFAULT_ENCODER, validate_default=True)
    top_n: int | None = 3

    model_config = ConfigDict(extra="forbid")

    @field_validator("encoder", mode="before")
    @classmethod
    def _load(cls, encoder: Any) -> Any:
        return _for_pydantic(to_encoder, encoder)

    @field_validator("top_n", mode="before")
    @classmethod
    def _check_top_n(cls, top_n: Any) -> int | None:
        return None if top_n is None else _for_pydantic(_count, top_n, "top_n")

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Copies of the best documents, best first, with the score in the metadata as ``relevance_score``."""
        hits = rerank(query, [document.page_content for document in documents], self.top_n, encoder=self.encoder)
        return [
            documents[int(place)].model_copy(
                update={"metadata": {**documents[int(place)].metadata, "relevance_score": score}}
            )
            for place, score in hits
        ]


def _count(value: Any, name: str) -> int:
    return as_count(value, name, at_least=1)


def _for_pydantic(check: Callable[..., T], *arguments: Any) -> T:
    """Calls a check. A `TypeError` becomes a `ValueError`, which pydantic reports as a bad argument."""
    try:
        return check(*arguments)
    except TypeError as problem:
        raise ValueError(str(problem)) from None

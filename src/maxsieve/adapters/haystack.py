"""Haystack: components that retrieve from a collection, and that rank any documents."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from maxsieve.adapters.retrieval import Retrieval, TextPart, check_part, find, to_dict, with_unit
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.ids import Id
from maxsieve.options import PerQuery, SearchOptions
from maxsieve.policies import Policy, policy_named, to_policy
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.rerank import rerank
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, to_encoder
from maxsieve.text.passages import first_records

optional("haystack", package="haystack-ai>=3")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402
from haystack.utils.filters import document_matches_filter  # noqa: E402


@component
class MaxsieveRetriever:
    """Retrieves the best passages of a collection. ``run_async`` does not block the event loop.

    ``warm_up`` opens the collection and loads its encoder; the pipeline and ``run`` call it.

    collection
        the path of a collection.
    encoder
        the name of its encoder, if it is not built in.
    top_k
        how many passages, or documents.
    filters
        Haystack's filters on metadata; filters given to ``run`` replace them. Haystack itself evaluates them, document
        by document, and the search is among the documents that match.
    text
        what becomes the ``content``, and what ``top_k`` counts: a ``"passage"``, or the whole ``"document"``. With
        ``search_kwargs={"by": "document"}``, passages are the best of ``top_k`` documents.
    policy
        the search policy, as in `Collection.search`.
    search_kwargs
        further JSON-compatible arguments of `Collection.search`: ``hybrid``, ``first_stage="bm25"``, ``depth``, ...
    """

    def __init__(
        self,
        collection: str | os.PathLike[str],
        encoder: str | None = None,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        text: TextPart = "passage",
        policy: Policy | str | None = None,
        search_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(collection, (str, os.PathLike)):
            raise TypeError(
                f"collection must be the path of a collection, not {collection!r}: a pipeline is written to a file"
            )
        if encoder is not None and not isinstance(encoder, str):
            raise TypeError(f"encoder must be the name of one, not {encoder!r}: a pipeline is written to a file")
        self.collection = os.fspath(collection)
        self.encoder = encoder
        self.top_k = as_count(top_k, "top_k", at_least=1)
        self.filters = filters
        self.text = check_part(text)
        self.policy = None if policy is None else to_policy(policy)
        self.search_kwargs = dict(search_kwargs or {})
        self._opened: Collection | None = None
        self._guard = threading.Lock()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A copy has the same arguments, and opens the collection itself."""
        others = self.filters, self.text, self.policy, self.search_kwargs
        return type(self), (self.collection, self.encoder, self.top_k, *others)

    def warm_up(self) -> None:
        """Opens the collection and loads its encoder, once."""
        self._warm()

    def _warm(self) -> Collection:
        with self._guard:
            if self._opened is None:
                opened = Collection.open(self.collection, self.encoder)
                opened.encoder  # noqa: B018 - loads it
                self._opened = opened
            return self._opened

    async def warm_up_async(self) -> None:
        """`warm_up`, without blocking the event loop."""
        await asyncio.to_thread(self.warm_up)

    def close(self) -> None:
        """Closes the collection; it is opened again when it is needed."""
        with self._guard:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def to_dict(self) -> dict[str, Any]:
        """The serialised component, for `from_dict`."""
        policy = None if self.policy is None else {"name": type(self.policy).__name__, **asdict(self.policy)}
        data: dict[str, Any] = default_to_dict(
            self,
            collection=self.collection,
            encoder=self.encoder,
            top_k=self.top_k,
            filters=self.filters,
            text=self.text,
            policy=policy,
            search_kwargs=self.search_kwargs,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MaxsieveRetriever:
        """A component from the output of `to_dict`."""
        arguments = dict(data.get("init_parameters", {}))
        if isinstance(arguments.get("policy"), Mapping):
            parameters = dict(arguments["policy"])
            arguments["policy"] = policy_named(str(parameters.pop("name", "")).lower(), parameters)
        made: MaxsieveRetriever = default_from_dict(cls, {**data, "init_parameters": arguments})
        return made

    @component.output_types(documents=list[Document], report=dict[str, Any])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """The best ``documents`` for a query, and a ``report`` with the guarantee."""
        count = self.top_k if top_k is None else as_count(top_k, "top_k", at_least=1)
        collection, chosen = self._warm(), self.filters if filters is None else filters
        options = SearchOptions.of(count, with_unit(self.text, {**self.search_kwargs, "policy": self.policy}))

        def search(snapshot: AnySnapshot) -> Retrieval:
            among = options
            if chosen:
                among = replace(options, candidates=PerQuery([_matching(collection, chosen, snapshot)]))
            return find(collection, [query], among, self.text, snapshot)[0]

        answer = collection.index.storage.reading(search)
        documents = [
            Document(id=found.id, content=found.text, meta=found.metadata, score=found.score) for found in answer.found
        ]
        report = {**answer.promise, "documents": answer.hits.n_documents, "seconds": answer.hits.search_seconds}
        return {"documents": documents, "report": report}

    @component.output_types(documents=list[Document], report=dict[str, Any])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """`run`, without blocking the event loop."""
        return await asyncio.to_thread(self.run, query, filters, top_k)


@component
class MaxsieveRanker:
    """Ranks any documents, and sets their scores. ``run_async`` does not block the event loop.

    encoder
        the name of an encoder (``"minilm"``, a folder, ``"st:NAME"``), loaded by ``warm_up``.
    top_k
        how many documents.
    meta_fields_to_embed
        metadata fields that are put before the content of a document when it is encoded, each on its own line.
    """

    def __init__(
        self, encoder: str = DEFAULT_ENCODER, top_k: int = 10, meta_fields_to_embed: list[str] | None = None
    ) -> None:
        if not isinstance(encoder, str):
            raise TypeError(f"encoder must be the name of one, not {encoder!r}: a pipeline is written to a file")
        self.encoder = encoder
        self.top_k = as_count(top_k, "top_k", at_least=1)
        self.meta_fields_to_embed = list(meta_fields_to_embed or [])
        self._loaded: Encoder | None = None
        self._guard = threading.Lock()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A copy has the same arguments, and loads the encoder itself."""
        return type(self), (self.encoder, self.top_k, self.meta_fields_to_embed)

    def warm_up(self) -> None:
        """Loads the encoder, once."""
        self._warm()

    def _warm(self) -> Encoder:
        with self._guard:
            if self._loaded is None:
                self._loaded = to_encoder(self.encoder)
            return self._loaded

    async def warm_up_async(self) -> None:
        """`warm_up`, without blocking the event loop."""
        await asyncio.to_thread(self.warm_up)

    def to_dict(self) -> dict[str, Any]:
        """The serialised component, for `from_dict`."""
        data: dict[str, Any] = default_to_dict(
            self, encoder=self.encoder, top_k=self.top_k, meta_fields_to_embed=self.meta_fields_to_embed
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MaxsieveRanker:
        """A component from the output of `to_dict`."""
        made: MaxsieveRanker = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """The best documents, best first. A document that occurs twice is ranked once, as in other rankers."""
        count = self.top_k if top_k is None else as_count(top_k, "top_k", at_least=1)
        given = list({document.id: document for document in documents}.values())
        texts = [self._text(document) for document in given]
        hits = rerank(query, texts, count, encoder=self._warm())
        return {"documents": [replace(given[int(place)], score=score) for place, score in hits]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """`run`, without blocking the event loop."""
        return await asyncio.to_thread(self.run, query, documents, top_k)

    def _text(self, document: Document) -> str:
        if document.content is None:
            raise ValueError(f"the document {document.id!r} has no content: MaxsieveRanker ranks texts")
        meta = [str(document.meta[name]) for name in self.meta_fields_to_embed if document.meta.get(name)]
        return "\n".join([*meta, document.content])


def _matching(collection: Collection, filters: dict[str, Any], snapshot: AnySnapshot) -> list[Id]:
    """The ids of the documents that match Haystack's filters."""
    records = first_records(collection.keys.firsts(snapshot.ids_in_order()), collection.keys, snapshot)
    documents = {id: Document(meta=to_dict(record["metadata"])) for id, record in records.items()}
    return [id for id, document in documents.items() if document_matches_filter(filters, document)]

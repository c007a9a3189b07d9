"""Code that the retrievers of text frameworks share: hits with id, text and metadata."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from maxsieve.common.checks import check_choice
from maxsieve.options import SearchOptions
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.answers import place_of
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.search import read_texts
from maxsieve.text.passages import read_document

KEY = "maxsieve"
"""The only key that is added to the metadata of a document; it is left out if it has no value."""

TextPart: TypeAlias = Literal["passage", "document"]
"""Which text a hit has: a passage, or the whole document."""


class RetrievedDocument(NamedTuple):
    """A document or passage that was found. ``metadata`` is a copy; under `KEY` it says where the passage is."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    start: int


class Retrieval(NamedTuple):
    """The documents that were found for a query, and the hits with their report."""

    found: list[RetrievedDocument]
    hits: TextHits

    @property
    def promise(self) -> dict[str, Any]:
        """The guarantee, and its scope: all documents, or candidates."""
        return {"guarantee": self.hits.report.guarantee, "scope": self.hits.scope}


def to_collection(collection: Any) -> Collection:
    """Opens a collection from its path; a `Collection` stays as it is.

    >>> to_collection(7)
    Traceback (most recent call last):
    TypeError: collection must be a maxsieve.Collection or the path of one, not 7
    """
    if isinstance(collection, Collection):
        return collection
    if not isinstance(collection, (str, os.PathLike)):
        raise TypeError(f"collection must be a maxsieve.Collection or the path of one, not {collection!r}")
    return Collection.open(collection)


def check_part(part: Any) -> TextPart:
    """Refuses any other value than ``"passage"`` and ``"document"``."""
    check_choice(part, "text", get_args(TextPart))
    chosen: TextPart = part
    return chosen


def with_unit(part: TextPart, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a search that finds what the texts are, unless they say otherwise: passages, or whole documents.

    >>> with_unit("passage", {}), with_unit("passage", {"by": "document"})
    ({'by': 'passage'}, {'by': 'document'})
    """
    given = {"by": part, **keywords}
    if part == "document" and given["by"] == "passage":
        raise ValueError("a search by passage finds no whole documents: let text and by be the same")
    return given


def find(
    collection: Collection,
    queries: Sequence[str],
    options: SearchOptions,
    part: TextPart,
    snapshot: AnySnapshot | None = None,
) -> list[Retrieval]:
    """The best documents or passages for each query, in a version of the collection or in the current one."""
    answers = collection.answer(read_texts(queries, "search_many"), options, snapshot=snapshot)
    return [Retrieval(_documents(collection, hits, part), hits) for hits in answers]


def whole_texts(collection: Collection, hits: TextHits) -> list[str]:
    """The texts of the documents that were found, in the version that was searched."""
    documents = (read_document(id, collection.keys, hits.snapshot) for id in hits.ids)
    return [document.text for document in documents if document is not None]


def _documents(collection: Collection, hits: TextHits, part: TextPart) -> list[RetrievedDocument]:
    found = []
    whole = part == "document"
    texts = whole_texts(collection, hits) if whole else hits.texts
    for rank, text in enumerate(texts):
        hit = hits[rank]
        passage, metadata = hit.passage, to_dict(hit.metadata)
        if place := place_of(hit):
            metadata[KEY] = place
        id = hit.id
        if hits.by == "passage" and passage.of > 1:  # frameworks drop what has the id of another
            id, metadata[KEY]["document"] = hit.passage_id, hit.id
        found.append(RetrievedDocument(str(id), text, hit.score, metadata, 0 if whole else passage.start))
    return found


def to_dict(metadata: Any) -> dict[str, Any]:
    """Metadata as a dict, which frameworks need; a collection accepts any JSON value."""
    if metadata is None:
        return {}
    return dict(metadata) if isinstance(metadata, dict) else {"metadata": metadata}

"""Code that the retrievers of text frameworks share: hits with id, text and metadata."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from maxsieve.common.checks import check_choice
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.lexical.hybrid import in_one_state

KEY = "maxsieve"
"""The only key that is added to the metadata of a document; it is left out if it has no value."""

TextPart: TypeAlias = Literal["passage", "document"]
"""Which text a hit has: its best passage, or the whole document."""


class RetrievedDocument(NamedTuple):
    """A document that was found. ``metadata`` is a copy; under `KEY` it says where the passage is."""

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


def find(
    collection: Collection, queries: Sequence[str], k: int, part: TextPart, options: Mapping[str, Any]
) -> list[Retrieval]:
    """The k best documents for each query; ``options`` are further arguments of `Collection.search_many`."""
    search = partial(_find, collection, queries, k, part, options)
    return in_one_state(collection, search) if part == "document" else search()


def _find(
    collection: Collection, queries: Sequence[str], k: int, part: TextPart, options: Mapping[str, Any]
) -> list[Retrieval]:
    answers = collection.search_many(queries, k, **options)
    return [Retrieval(_documents(collection, hits, part), hits) for hits in answers]


def _documents(collection: Collection, hits: TextHits, part: TextPart) -> list[RetrievedDocument]:
    found = []
    for doc_id, score, given, passage in zip(hits.ids, hits.scores.tolist(), hits.metadata, hits.passages, strict=True):
        metadata = to_dict(given)
        if passage.of > 1:
            place = {"number": passage.number, "of": passage.of, "start": passage.start, "heading": passage.heading}
            metadata[KEY] = {"passage": place if passage.page is None else {**place, "page": passage.page}}
        whole = part == "document"
        text = collection.text(doc_id) if whole else passage.text
        found.append(RetrievedDocument(str(doc_id), text, score, metadata, 0 if whole else passage.start))
    return found


def to_dict(metadata: Any) -> dict[str, Any]:
    """Metadata as a dict, which frameworks need; a collection accepts any JSON value."""
    if metadata is None:
        return {}
    return dict(metadata) if isinstance(metadata, dict) else {"metadata": metadata}

"""What the retrievers of the text frameworks share: documents of a collection, as those frameworks want them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from maxsieve.common.checks import check_choice
from maxsieve.text.collection import Collection
from maxsieve.text.hits import TextHits
from maxsieve.text.hybrid import in_one_state

KEY = "maxsieve"
"""The one key that is added to the metadata of a document, and only if there is something to say."""

Part: TypeAlias = Literal["passage", "document"]
"""Which text stands for a hit: that of its best passage, or all of it."""


class Found(NamedTuple):
    """A document that was found. ``metadata`` is a copy of its own; under `KEY` is the place of a passage."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    start: int


class Answer(NamedTuple):
    """What was found for a query, and what the search guarantees."""

    found: list[Found]
    hits: TextHits

    @property
    def promise(self) -> dict[str, Any]:
        """What the report guarantees, and of what: all documents, or candidates."""
        return {"guarantee": self.hits.report.guarantee, "scope": self.hits.scope}


def to_collection(collection: Any) -> Collection:
    """A collection as it is, or opened from its folder.

    >>> to_collection(7)
    Traceback (most recent call last):
    TypeError: collection must be a maxsieve.Collection or the path of one, not 7
    """
    if isinstance(collection, Collection):
        return collection
    if not isinstance(collection, (str, os.PathLike)):
        raise TypeError(f"collection must be a maxsieve.Collection or the path of one, not {collection!r}")
    return Collection.open(collection)


def check_part(part: Any) -> Part:
    """Refuses what names no part of a document."""
    check_choice(part, "text", get_args(Part))
    chosen: Part = part
    return chosen


def find(
    collection: Collection, queries: Sequence[str], k: int, part: Part, options: Mapping[str, Any]
) -> list[Answer]:
    """The k best documents for each query; ``options`` are further arguments of `Collection.search_many`."""
    search = partial(_find, collection, queries, k, part, options)
    return in_one_state(collection, search) if part == "document" else search()


def _find(
    collection: Collection, queries: Sequence[str], k: int, part: Part, options: Mapping[str, Any]
) -> list[Answer]:
    answers = collection.search_many(queries, k, **options)
    return [Answer(_documents(collection, hits, part), hits) for hits in answers]


def _documents(collection: Collection, hits: TextHits, part: Part) -> list[Found]:
    found = []
    for one, score, given, passage in zip(hits.ids, hits.scores.tolist(), hits.metadata, hits.passages, strict=True):
        metadata = to_dict(given)
        if passage.of > 1:
            place = {"number": passage.number, "of": passage.of, "start": passage.start, "heading": passage.heading}
            metadata[KEY] = {"passage": place if passage.page is None else {**place, "page": passage.page}}
        whole = part == "document"
        text = collection.text(one) if whole else passage.text
        found.append(Found(str(one), text, score, metadata, 0 if whole else passage.start))
    return found


def to_dict(metadata: Any) -> dict[str, Any]:
    """Metadata as frameworks have it: a collection takes anything that JSON can hold."""
    if metadata is None:
        return {}
    return dict(metadata) if isinstance(metadata, dict) else {"metadata": metadata}

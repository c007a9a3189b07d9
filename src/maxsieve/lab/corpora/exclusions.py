"""Queries that are documents of the corpus, as ArguAna's are: they would find themselves."""

from __future__ import annotations

from collections.abc import Mapping

SHARED_WORDS = 0.5
"""Of all words of both texts. ArguAna's pairs, which differ in footnotes and white space, share 95 % and more."""


def exclude_themselves(queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, list[str]]:
    """For each query that is a document, itself: the same id and, but for details, the same text.

    The id alone does not tell: in many corpora queries and documents are numbered, each from 1 on.

    >>> exclude_themselves({"1": "Is tea green?", "2": "red fox"}, {"1": "A  lake.", "2": "Red fox", "3": "red fox"})
    {'2': ['2']}
    """
    return {one: [one] for one, text in queries.items() if one in documents and _alike(text, documents[one])}


def _alike(query: str, document: str) -> bool:
    asked, there = set(query.lower().split()), set(document.lower().split())
    return len(asked & there) >= SHARED_WORDS * len(asked | there)

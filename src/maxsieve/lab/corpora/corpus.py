"""A test collection: what is searched, what is asked, and what was judged to be an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from maxsieve.common.checks import as_count

PIECE = 1 << 20
"""Bytes of a file that are in memory at once."""
SHARED_WORDS = 0.5
"""Of all words of both texts. ArguAna's pairs, which differ in footnotes and white space, share 95 % and more."""


class CorpusWarning(UserWarning):
    """A part of a corpus is of no use: a judgement of something unknown, a query that nobody judged."""


@dataclass(frozen=True)
class Corpus:
    """Documents and queries by id, in file order, and grades by query and document.

    Ids are str, whatever they were in the files: ``7`` and ``"7"`` are the same id, ``"007"`` is another.
    """

    name: str
    documents: dict[str, str]
    """The text of each: its title, a space, its text."""
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]
    """Query id -> document id -> grade; only of queries and documents that there are."""
    digest: str
    """SHA-256 of what it was read from, in hexadecimal: a key for caches. Parts of a corpus share it."""
    exclusions: dict[str, list[str]] = field(default_factory=dict)
    """Query id -> documents that must not be its hits."""

    def first(self, queries: int | None) -> Corpus:
        """The same documents with only the first so many queries that have judgements; None: all of those.

        >>> queries = {"a": "?", "b": "tea?", "c": "green?"}
        >>> corpus = Corpus("it", {"d": "tea"}, queries, {"b": {"d": 1}, "c": {"d": 1}}, "")
        >>> corpus.first(1).queries, list(corpus.first(None).judgements)
        ({'b': 'tea?'}, ['b', 'c'])
        """
        count = None if queries is None else as_count(queries, "queries", at_least=1)
        return self._asked(islice((query for query in self.queries if query in self.judgements), count))

    def part(self, *, documents: int | None = None, queries: int | None = None) -> Corpus:
        """The first so many queries, judged or not, and so many documents: relevant ones, then those that come first.

        >>> texts = {"a": "tea", "b": "coffee", "c": "water"}
        >>> corpus = Corpus("it", texts, {"q": "?", "r": "wet?"}, {"q": {"c": 1, "b": 0}, "r": {"b": 1}}, "")
        >>> list(corpus.part(documents=2, queries=1).documents)
        ['a', 'c']
        """
        asked = self._asked(islice(self.queries, queries))
        if documents is None or documents >= len(self.documents):
            return asked
        relevant = {one for grades in asked.judgements.values() for one, grade in grades.items() if grade > 0}
        if documents < len(relevant):
            raise ValueError(
                f"{len(asked.queries)} queries of {self.name} have {len(relevant)} relevant documents, which don't fit "
                f"into {documents}: ask for more documents or fewer queries"
            )
        others = islice((one for one in self.documents if one not in relevant), documents - len(relevant))
        kept = relevant.union(others)
        known = {
            query: {one: grade for one, grade in own.items() if one in kept} for query, own in asked.judgements.items()
        }
        return replace(
            asked,
            documents={one: text for one, text in self.documents.items() if one in kept},
            judgements={query: grades for query, grades in known.items() if grades},
            exclusions={query: [one for one in own if one in kept] for query, own in asked.exclusions.items()},
        )

    def _asked(self, queries: Iterable[str]) -> Corpus:
        chosen = dict.fromkeys(queries)
        return replace(
            self,
            queries={query: self.queries[query] for query in chosen},
            judgements={query: self.judgements[query] for query in chosen if query in self.judgements},
            exclusions={query: self.exclusions[query] for query in chosen if query in self.exclusions},
        )


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 of files and of the names they go by, in hexadecimal."""
    whole = hashlib.sha256()
    for name, path in files:
        whole.update(f"{name} {path.stat().st_size}\n".encode())
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                whole.update(piece)
    return whole.hexdigest()


def exclude_themselves(queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, list[str]]:
    """For each query that is a document, as ArguAna's are, itself: the same id and, but for details, the same text.

    The id alone does not tell: in many corpora queries and documents are numbered, each from 1 on.

    >>> exclude_themselves({"1": "Is tea green?", "2": "red fox"}, {"1": "A  lake.", "2": "Red fox", "3": "red fox"})
    {'2': ['2']}
    """
    return {one: [one] for one, text in queries.items() if one in documents and _alike(text, documents[one])}


def _alike(query: str, document: str) -> bool:
    asked, there = set(query.lower().split()), set(document.lower().split())
    return len(asked & there) >= SHARED_WORDS * len(asked | there)

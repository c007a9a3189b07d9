"""A test collection: documents, queries and relevance judgements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from maxsieve.common.checks import as_count

PIECE = 1 << 20
"""How many bytes of a file are read at a time."""
SHARED_WORDS = 0.5
"""The share of common words above which two texts are the same. ArguAna's pairs share 95 % and more."""


class CorpusWarning(UserWarning):
    """A part of a corpus can't be used: a judgement of an unknown document, a query without judgements."""


@dataclass(frozen=True)
class Corpus:
    """Documents and queries by id, in file order, and grades by query and document.

    Ids are str, whatever their type in the files: ``7`` and ``"7"`` are the same id, ``"007"`` is a different one.
    """

    name: str
    documents: dict[str, str]
    """The text of each: its title, a space, its text."""
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]
    """Query id -> document id -> grade; only of queries and documents in the corpus."""
    digest: str
    """SHA-256 of the source, in hexadecimal: a key for caches. Parts of a corpus share it."""
    exclusions: dict[str, list[str]] = field(default_factory=dict)
    """Query id -> documents that must not be its hits."""

    def first(self, queries: int | None) -> Corpus:
        """The same documents, with only the first judged queries; None means all judged queries.

        >>> queries = {"a": "?", "b": "tea?", "c": "green?"}
        >>> corpus = Corpus("it", {"d": "tea"}, queries, {"b": {"d": 1}, "c": {"d": 1}}, "")
        >>> corpus.first(1).queries, list(corpus.first(None).judgements)
        ({'b': 'tea?'}, ['b', 'c'])
        """
        count = None if queries is None else as_count(queries, "queries", at_least=1)
        return self._asked(islice((query for query in self.queries if query in self.judgements), count))

    def part(self, *, documents: int | None = None, queries: int | None = None) -> Corpus:
        """The first queries, judged or not, and that many documents: the relevant ones, then the first of the others.

        >>> texts = {"a": "tea", "b": "coffee", "c": "water"}
        >>> corpus = Corpus("it", texts, {"q": "?", "r": "wet?"}, {"q": {"c": 1, "b": 0}, "r": {"b": 1}}, "")
        >>> list(corpus.part(documents=2, queries=1).documents)
        ['a', 'c']
        """
        asked = self._asked(islice(self.queries, queries))
        if documents is None or documents >= len(self.documents):
            return asked
        relevant = {doc_id for grades in asked.judgements.values() for doc_id, grade in grades.items() if grade > 0}
        if documents < len(relevant):
            raise ValueError(
                f"{len(asked.queries)} queries of {self.name} have {len(relevant)} relevant documents, more than "
                f"{documents}: ask for more documents or fewer queries"
            )
        others = islice((doc_id for doc_id in self.documents if doc_id not in relevant), documents - len(relevant))
        kept = relevant.union(others)
        known = {
            query: {doc_id: grade for doc_id, grade in own.items() if doc_id in kept}
            for query, own in asked.judgements.items()
        }
        return replace(
            asked,
            documents={doc_id: text for doc_id, text in self.documents.items() if doc_id in kept},
            judgements={query: grades for query, grades in known.items() if grades},
            exclusions={query: [doc_id for doc_id in own if doc_id in kept] for query, own in asked.exclusions.items()},
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
    """SHA-256 of files and their names, in hexadecimal."""
    whole = hashlib.sha256()
    for name, path in files:
        whole.update(f"{name} {path.stat().st_size}\n".encode())
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                whole.update(piece)
    return whole.hexdigest()


def exclude_themselves(queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, list[str]]:
    """Excludes, for each query that is itself a document (as in ArguAna), that document: same id and almost same text.

    The id alone is not enough: in many corpora both queries and documents are numbered from 1.

    >>> exclude_themselves({"1": "Is tea green?", "2": "red fox"}, {"1": "A  lake.", "2": "Red fox", "3": "red fox"})
    {'2': ['2']}
    """
    return {query: [query] for query, text in queries.items() if query in documents and _alike(text, documents[query])}


def _alike(query: str, document: str) -> bool:
    asked, there = set(query.lower().split()), set(document.lower().split())
    return len(asked & there) >= SHARED_WORDS * len(asked | there)

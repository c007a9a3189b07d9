"""A test collection: what is searched, what is asked, and what was judged to be an answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from maxsieve.common.checks import as_count


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
        chosen = list(islice((query for query in self.queries if query in self.judgements), count))
        return replace(
            self,
            queries={query: self.queries[query] for query in chosen},
            judgements={query: self.judgements[query] for query in chosen},
            exclusions={query: self.exclusions[query] for query in chosen if query in self.exclusions},
        )

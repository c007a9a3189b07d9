"""A corpus for experiments: an index, the queries' vectors, judgements, and the exhaustive answers.

It also computes what experiments need beyond searching: cells, scores and bounds of all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import Bandit, Calibrated, Certified, Exhaustive, Hits, Index, _core
from maxsieve.common.threads import thread_count
from maxsieve.ids import Id
from maxsieve.index import to_rows
from maxsieve.lab.metrics.quality import quality, ranked
from maxsieve.policies import Policy
from maxsieve.spec import norm_up, up32
from maxsieve.storage.segments import Store
from maxsieve.text.passages import Keys

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Answers = dict[str, list[str]]
"""Ids by query, best first."""

GROUP = 32
"""How many queries are searched in one call."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Documents in an index, with str ids; queries, judgements and exclusions by query id."""

    name: str
    encoder: str
    """A description of the vectors: ``"minilm, d = 128"``."""
    index: Index
    queries: dict[str, F32]
    judgements: dict[str, dict[str, int]] = field(default_factory=dict)
    exclusions: dict[str, list[str]] = field(default_factory=dict)
    """Documents that must not be a query's hits."""
    keys: Keys = field(default_factory=lambda: Keys(passages=False))
    """If documents are stored as passages, all ids in this class are the keys of passages."""
    sweeps: dict[tuple[object, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """A cache of sweeps that several experiments share. (A copy by `replace` starts with an empty one.)"""
    _rankings: dict[int, Answers] = field(default_factory=dict, init=False, repr=False)
    _firsts: dict[int, Embedded] = field(default_factory=dict, init=False, repr=False)

    def first(self, count: int | None) -> Embedded:
        """The same documents with the first queries only."""
        if count is None or count >= len(self.queries):
            return self
        if count not in self._firsts:
            queries = dict(list(self.queries.items())[:count])
            self._firsts[count] = replace(self, queries=queries)
        return self._firsts[count]

    def with_vectors(self, encoder: str, change: Callable[[F32], F32], *, queries_too: bool) -> Embedded:
        """A copy in memory with changed vectors of documents and, with ``queries_too``, of queries."""
        copy = self.with_documents(self.ids, change)
        queries = {query: change(rows) for query, rows in self.queries.items()} if queries_too else self.queries
        return replace(copy, encoder=encoder, queries=queries)

    def with_documents(
        self, ids: Sequence[str], change: Callable[[F32], F32] = lambda rows: rows, *, store: Store = "float32"
    ) -> Embedded:
        """A copy in memory with only these documents, whose vectors may be changed."""
        vectors = (change(self.vectors(doc_id)) for doc_id in ids)
        index = Index.build(vectors, ids, store=store, group_by=self.keys.group_by)
        known = {query: [doc_id for doc_id in own if doc_id in index] for query, own in self.exclusions.items()}
        return replace(self, index=index, exclusions=known)

    def extent(self, *, documents: bool = False, tokens: bool = False) -> str:
        """The number of queries (and documents) and the kind of vectors, for summaries."""
        asked = f"{len(self.queries)} queries" + f" of {self.query_tokens:.1f} tokens on average" * tokens
        return ", ".join([asked, *[self.size] * documents, self.encoder])

    @cached_property
    def size(self) -> str:
        """How many documents there are, in words."""
        count = self.keys.count(self.index.storage.snapshot.here)
        passages = f" in {len(self.index):,} passages" if len(self.index) > count else ""
        return f"{count:,} documents{passages}"

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all documents, in the order of the index."""
        return [str(doc_id) for doc_id in self.index.ids]

    @cached_property
    def searchable(self) -> I64:
        """The positions in `ids` of documents that have tokens, and so can be hits."""
        snapshot = self.index.storage.snapshot.here
        return np.flatnonzero(np.isin(snapshot.live, snapshot.searchable))

    def candidates(self, query: str) -> I64:
        """The `searchable` positions that are not excluded for a query."""
        excluded = set(self.exclusions.get(query, ()))
        places = self.searchable.tolist()
        return (
            np.array([place for place in places if self.ids[place] not in excluded], np.int64)
            if excluded
            else self.searchable
        )

    @cached_property
    def own_ids(self) -> dict[str, Id]:
        """From the str ids used here to the ids in the index, which may be int."""
        return {str(doc_id): doc_id for doc_id in self.index.ids}

    def excluded(self, query: str) -> list[Id] | None:
        """The ids in the index that must not be hits of a query."""
        unwanted = self.exclusions.get(query)
        return None if unwanted is None else [self.own_ids[doc_id] for doc_id in unwanted]

    def vectors(self, doc_id: str) -> F32:
        """A document's vectors."""
        return np.asarray(self.index.vectors(self.own_ids[doc_id]), np.float32)

    def documents(self) -> Iterator[F32]:
        """The vectors of the `searchable` documents."""
        return (self.vectors(self.ids[place]) for place in self.searchable.tolist())

    @cached_property
    def query_tokens(self) -> float:
        """Tokens of a query, on average."""
        return float(np.mean([len(rows) for rows in self.queries.values()]))

    def search(
        self,
        k: int,
        policy: Policy,
        *,
        threads: int | None = None,
        queries: dict[str, F32] | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> dict[str, Hits]:
        """The hits of every query (or of other vectors in their place), by its id."""
        asked = self.queries if queries is None else queries
        names = list(asked)
        found: dict[str, Hits] = {}
        for start in range(0, len(names), GROUP):
            some = names[start : start + GROUP]
            exclude = [self.excluded(query) for query in some] if self.exclusions else None
            rows = [asked[query] for query in some]
            hits = self.index.search_many(rows, k, policy=policy, exclude=exclude, threads=threads)
            found.update(zip(some, hits, strict=True))
            advance(len(some))
        return found

    def truth(self, k: int, *, threads: int | None = None) -> Answers:
        """The k best documents of every query by exhaustive scoring; computed once for the largest k asked for."""
        known = next((self._rankings[size] for size in sorted(self._rankings) if size >= k), None)
        if known is None:
            known = self._rankings[k] = answers_of(self.search(k, Exhaustive(), threads=threads))
        return {query: ranking[:k] for query, ranking in known.items()}

    def quality(self, answers: Mapping[str, Sequence[str]], measures: Sequence[str]) -> dict[str, dict[str, float]]:
        """The quality of answers (ids, best first) by the judgements: measure -> query -> value, for judged queries."""
        judged = {query: self.judgements[query] for query in self.queries if query in self.judgements}
        run = {query: ranked(self.documents_of(found)) for query, found in answers.items()}
        return quality(run, judged, measures)

    def documents_of(self, ids: Sequence[Id]) -> list[str]:
        """The documents of these passages, in order, each once."""
        return list(dict.fromkeys(str(self.keys.document(key)) for key in ids))

    def cells(self, query: F32, *, threads: int | None = None) -> F32:
        """The matrix H of exact cells, documents in the order of `ids`: [documents, query tokens]."""
        snapshot = self.index.storage.snapshot.here
        return _core.cells(snapshot.corpus, to_rows([query], snapshot.layout)[0], thread_count(threads))[snapshot.live]

    def scores(self, query: F32, *, threads: int | None = None) -> F32:
        """The canonical scores of all documents, in the order of `ids`."""
        snapshot = self.index.storage.snapshot.here
        found: F32 = _core.score(snapshot.corpus, to_rows([query], snapshot.layout), thread_count(threads))[0]
        return found[snapshot.live]

    def score_bounds(self, query: F32, *, threads: int | None = None) -> tuple[F64, F64]:
        """Lower and upper bounds of the scores, from their proxies and error bounds, in the order of `ids`."""
        snapshot = self.index.storage.snapshot.here
        lower, upper = _core.bounds(snapshot.corpus, to_rows([query], snapshot.layout)[0], thread_count(threads))
        return lower[snapshot.live], upper[snapshot.live]

    @cached_property
    def norm_bounds(self) -> F64:
        """``nu_i`` of every document, in the order of `ids`; 0 for an empty one."""
        documents = (self.vectors(doc_id).astype(np.float64) for doc_id in self.ids)
        return np.array([up32(norm_up(rows).max(initial=0.0)) for rows in documents], np.float64)


def ensure_codebook(index: Index, *, progress: bool = False) -> None:
    """Trains a codebook, unless there is one: in a store of residuals there is, and it never changes."""
    if index.storage.snapshot.codebook is None:
        index.train_codebook(progress=progress)


def to_strings(hits: Hits) -> list[str]:
    """The ids of hits, as str."""
    return [str(doc_id) for doc_id in hits.ids]


def answers_of(hits: Mapping[str, Hits]) -> Answers:
    """The ids of every query's hits."""
    return {query: to_strings(found) for query, found in hits.items()}


def mean_coverage(hits: Mapping[str, Hits]) -> float:
    """Cells revealed over all cells, averaged over queries."""
    return float(np.mean([found.report.coverage for found in hits.values()]))


def mean_rescored(hits: Mapping[str, Hits]) -> float:
    """Documents scored canonically, averaged over queries."""
    return float(np.mean([found.report.rescored for found in hits.values()]))


def policy_name(policy: Policy) -> str:
    """The name of a policy in tables.

    >>> policy_name(Bandit(0.3))
    'Bandit 0.3'
    """
    if isinstance(policy, Bandit):
        return f"Bandit {policy.alpha:g}"
    if isinstance(policy, Calibrated):
        return f"Calibrated {policy.overlap:g}"
    return "Certified" if isinstance(policy, Certified) else "Exhaustive"

"""Searches a collection: from the text of queries to hits with texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.candidates import Candidates, per_query, read_candidates, read_exclude
from maxsieve.common.checks import as_count
from maxsieve.errors import Function, hinted
from maxsieve.ids import Id
from maxsieve.policies import Calibrated, Policy
from maxsieve.text.collection.additions import check_text
from maxsieve.text.collection.hits import IndexHits, TextHits
from maxsieve.text.encoders.encoder import Encoder
from maxsieve.text.lexical.bm25 import BM25, FirstStage, ask_first_stage
from maxsieve.text.lexical.fusion import Hybrid, to_fusion
from maxsieve.text.lexical.hybrid import HybridHits, in_one_state, search_hybrid
from maxsieve.text.passages import Keys, Records
from maxsieve.where import Where, per_query_where

METADATA = ("metadata",)
"""The field of a record that filters look at."""


class SearchedIndex(Records, Protocol):
    """The interface of an index that a search for texts uses, in one piece or in shards."""

    @property
    def dim(self) -> int:
        """Numbers in a vector."""

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Any) -> Sequence[IndexHits]:
        """The best passages for each query."""


class Searchable(Protocol):
    """A collection, whether it is one or in shards."""

    @property
    def index(self) -> Any:
        """A `SearchedIndex`."""

    @property
    def keys(self) -> Keys:
        """The keys of passages in the index."""

    @property
    def encoder(self) -> Encoder:
        """The encoder of its vectors."""

    @property
    def bm25(self) -> BM25:
        """BM25 over its texts."""

    @property
    def path(self) -> Path:
        """Its folder."""

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""

    @property
    def state(self) -> object:
        """The current state: another object after each change."""

    @property
    def calibrated(self) -> bool:
        """Whether the collection was calibrated."""

    def __len__(self) -> int: ...


class Queries(NamedTuple):
    """Texts to search for. For each: its name in errors, candidates, ids that must not be hits, and a filter.

    ``vectors`` are the token vectors of the texts, if they are already encoded.
    """

    texts: list[str]
    names: list[str]
    candidates: list[Candidates]
    exclude: list[list[Id] | None]
    where: list[Where | None]
    vectors: list[NDArray[np.float32]] | None = None

    @classmethod
    def one(cls, text: str, candidates: Any = None, exclude: Any = None, where: Any = None) -> Queries:
        """A single query."""
        if isinstance(where, (list, tuple)):
            raise ValueError("where must be one filter, not a list of them")
        return cls(
            [check_text(text, "the query")],
            ["query"],
            read_candidates([candidates]),
            read_exclude([exclude]),
            per_query_where(where, 1, METADATA),
        )

    @classmethod
    def many(
        cls,
        texts: Iterable[str],
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        taker: str = "search_many",
    ) -> Queries:
        """Many queries; candidates, exclude and where are one value for all, or a list with one entry for each."""
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
            raise TypeError(f"{taker} takes a list of texts, not {texts!r}")
        listed = list(texts)
        names = [f"query {i}" for i in range(len(listed))]
        return cls(
            [check_text(text, name) for text, name in zip(listed, names, strict=True)],
            names,
            read_candidates(per_query(candidates, len(listed), "candidates")),
            read_exclude(per_query(exclude, len(listed), "exclude")),
            per_query_where(where, len(listed), METADATA),
        )

    def encode(self, encoder: Encoder) -> list[NDArray[np.float32]]:
        """Their token vectors; a text without a token is an error."""
        vectors = self.vectors if self.vectors is not None else encoder.queries(self.texts) if self.texts else []
        self.check(len(rows) > 0 for rows in vectors)
        return vectors

    def check(self, usable: Iterable[bool]) -> None:
        """Raises an error for the first query that is not usable."""
        for text, name, fine in zip(self.texts, self.names, usable, strict=True):
            if not fine:
                raise ValueError(f"{name} is {text!r}, which contains nothing to search for")


def search_texts(
    collection: Searchable,
    queries: Queries,
    k: int,
    policy: Policy | None,
    first_stage: FirstStage | str | None,
    depth: int,
    threads: int | None,
    hybrid: Hybrid | None = None,
    *,
    trace: bool = False,
    **options: Any,
) -> list[TextHits]:
    """The k best documents for each query; one query alone may have a ``trace``. ``options`` are for the index."""
    count = max(1, len(queries.texts))
    if hybrid is not None:
        to_fusion(hybrid)  # so that an error is raised before anything is encoded
        if first_stage is not None:
            raise ValueError(
                "give hybrid or a first stage, not both: a hybrid search uses the BM25 scores of all documents"
            )
        if trace:
            raise ValueError("give hybrid or trace, not both: a hybrid search consists of several searches")
    if type(policy) is Calibrated:
        check_calibrated(collection)
    index: SearchedIndex = collection.index
    encoder = collection.encoder
    stage = to_first_stage(first_stage, collection)
    started = perf_counter()
    vectors = [
        rows[:, : index.dim] for rows in queries.encode(encoder)
    ]  # shorter only while the collection has no vectors and no projection
    encoded = perf_counter()
    if stage is not None:
        if any(one is not None for one in queries.candidates):
            raise ValueError("give candidates or a first stage, not both")
        depth = as_count(depth, "depth", at_least=1)
    keys = collection.keys

    def find(candidates: Sequence[Candidates], k: int, policy: Policy | None) -> Sequence[IndexHits]:
        chosen = _to_keys(candidates, collection, "candidates")
        unwanted = _to_keys(queries.exclude, collection, "exclude")
        if trace:
            [rows], [own], [others], [where] = vectors, chosen, unwanted, queries.where
            return [
                collection.index.search(
                    rows, k, policy=policy, candidates=own, exclude=others, where=where, threads=threads, trace=True
                )
            ]
        return index.search_many(
            vectors,
            k,
            policy=policy,
            candidates=chosen,
            exclude=unwanted,
            where=queries.where,
            threads=threads,
            **options,
        )

    def search() -> tuple[Sequence[Candidates], Sequence[IndexHits]]:
        named: Sequence[Candidates] = queries.candidates
        if stage is not None:
            asked = zip(queries.texts, queries.where, strict=True)
            named = [ask_first_stage(stage, text, depth, where, collection) for text, where in asked]
        return named, find(named, k, policy)

    candidates: Sequence[Candidates] = queries.candidates
    fused: Sequence[HybridHits | None] = [None] * len(vectors)
    if hybrid is None:
        named = stage is not None or any(one is not None for one in (*queries.candidates, *queries.exclude))
        chosen_by_metadata = stage is not None and any(one is not None for one in queries.where)
        # another thread may change the passages or metadata of a candidate between the steps
        several = (keys.passages and named) or chosen_by_metadata
        candidates, found = in_one_state(collection, search) if several else search()
    else:
        fused = answers = search_hybrid(collection, queries, hybrid, k, depth, policy, find)
        found = [one.hits for one in answers]
    took = (encoded - started) / count, (perf_counter() - encoded) / count
    return [
        TextHits(
            text,
            *took,
            "candidates" if wanted is not None else "all" if where is None else "matching",
            partial(_searched, hits, wanted, unwanted, where, keys),
            hits,
            encoder,
            keys,
            first_stage=None if stage is None else "bm25" if first_stage == "bm25" else "a function",
            depth=None if stage is None else depth,
            hybrid=both and both.scores,
            where=None if where is None else where.given,
            _report=both and both.report,
        )
        for text, hits, both, wanted, unwanted, where in zip(
            queries.texts, found, fused, candidates, queries.exclude, queries.where, strict=True
        )
    ]


def check_calibrated(collection: Searchable) -> None:
    """Raises an error that names the missing call, if the collection is not calibrated."""
    if not collection.calibrated:
        wrong = ValueError("this collection is not calibrated")
        raise hinted(wrong, ": {} does that, on sentences of its documents or your own queries", Function("calibrate"))


def to_first_stage(first_stage: FirstStage | str | None, collection: Searchable) -> FirstStage | None:
    """A first stage by name, or as given."""
    if first_stage is None or callable(first_stage):
        return first_stage
    if first_stage == "bm25":
        return BM25.of(collection)
    raise ValueError(f"first_stage must be 'bm25' or a function of query and depth, not {first_stage!r}")


def _to_keys(entries: Sequence[Any], collection: Searchable, what: str) -> list[Any]:
    """The candidates or excluded documents of each query as keys of the index; equal inputs share one object."""
    keys, index = collection.keys, collection.index
    if not keys.passages:
        return list(entries)
    known: dict[int, Any] = {}
    for entry in entries:
        if id(entry) in known:
            continue
        ids = entry
        if isinstance(entry, np.ndarray):
            if entry.shape != (len(collection),):
                raise ValueError(f"{what} is a mask of shape {entry.shape} for {len(collection)} documents")
            ids = list(compress(collection.ids, entry))
        known[id(entry)] = None if ids is None else keys.of_all(ids, index, what)
    return [known[id(entry)] for entry in entries]


def _searched(
    hits: IndexHits, candidates: Candidates, exclude: list[Id] | None, where: Where | None, keys: Keys
) -> int:
    """How many documents a query was compared with."""
    unwanted = set(exclude or ())
    state = hits.snapshot
    if where is not None:
        matching = state.matching(where)[state.live]
        if not keys.passages and candidates is None and not unwanted:
            return int(matching.sum())
        found = set(keys.firsts(compress(state.live_ids(), matching))) - unwanted
        if isinstance(candidates, np.ndarray):
            candidates = list(compress(keys.firsts(state.live_ids()), candidates))
        return len(found if candidates is None else found.intersection(candidates))
    if candidates is None:
        return keys.count(state) - len(unwanted)
    if isinstance(candidates, list):
        return len(set(candidates) - unwanted)
    if not unwanted:
        return int(candidates.sum())
    return sum(one not in unwanted for one in compress(keys.firsts(state.live_ids()), candidates))

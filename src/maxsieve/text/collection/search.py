"""Searches a collection: from the text of queries to hits with texts.

All steps of a search read the same version of the collection, so that a change meanwhile makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import Function, hinted
from maxsieve.hits import Hits
from maxsieve.ids import Id
from maxsieve.options import Candidates, PerQuery, SearchOptions
from maxsieve.policies import Calibrated
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.additions import check_text
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.lexical.bm25 import first_candidates
from maxsieve.text.lexical.hybrid import search_hybrid
from maxsieve.text.passages import Keys

if TYPE_CHECKING:
    from maxsieve.text.collection.collection import Collection

ATTEMPTS = 10
"""How often a search begins again when the collection changes meanwhile."""

Rows = Sequence[NDArray[np.float32]]


def read_texts(texts: Iterable[str], taker: str) -> list[str]:
    """A list of texts, checked."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"{taker} takes a list of texts, not {texts!r}")
    return [check_text(text, f"query {i}") for i, text in enumerate(texts)]


def check_usable(texts: Sequence[str], usable: Iterable[bool]) -> None:
    """Raises an error for the first query that is not usable."""
    for i, (text, fine) in enumerate(zip(texts, usable, strict=True)):
        if not fine:
            name = "query" if len(texts) == 1 else f"query {i}"
            raise ValueError(f"{name} is {text!r}, which contains nothing to search for")


def search_texts(
    collection: Collection,
    texts: Sequence[str],
    options: SearchOptions,
    vectors: Rows | None,
    snapshot: AnySnapshot | None,
) -> list[TextHits]:
    """The k best documents for each text. ``vectors`` are those of the texts, if they are encoded already."""
    if type(options.policy) is Calibrated:  # before anything is encoded
        check_calibrated(collection)
    started = perf_counter()
    if vectors is None:
        vectors = collection.encoder.encode_queries(texts) if texts else []
    if not all(map(len, vectors)):
        check_usable(texts, (len(row) > 0 for row in vectors))
    encoded = perf_counter()
    search = partial(_search, collection, texts, vectors, options)
    if snapshot is not None:
        found = search(snapshot)
    elif options.first_stage is None:
        found = collection.index.storage.reading(search)
    else:
        found = _search_current(collection, search)
    count = max(1, len(texts))
    encoding, searching = (encoded - started) / count, (perf_counter() - encoded) / count
    return [replace(hits, encode_seconds=encoding, search_seconds=searching) for hits in found]


def _search_current(collection: Collection, search: Callable[[AnySnapshot], list[TextHits]]) -> list[TextHits]:
    """Searches the current version. If the first stage names a document that was added meanwhile, begins again."""
    storage = collection.index.storage
    for _ in range(ATTEMPTS - 1):
        before = storage.snapshot
        try:
            return storage.reading(search)
        except KeyError:
            if storage.snapshot is before:
                raise
    return storage.reading(search)


def check_calibrated(collection: Collection) -> None:
    """Raises an error that names the missing call, if the collection is not calibrated."""
    if not collection.calibrated:
        wrong = ValueError("this collection is not calibrated")
        raise hinted(wrong, ": {} does that, on sentences of its documents or your own queries", Function("calibrate"))


def _search(
    collection: Collection, texts: Sequence[str], rows: Rows, options: SearchOptions, snapshot: AnySnapshot
) -> list[TextHits]:
    """The hits in a version of the collection."""
    keys, dim = collection.keys, snapshot.layout.dim
    rows = [row[:, :dim] for row in rows]  # shorter only while there are no vectors and no projection
    if options.where.given:
        options = replace(options, where=options.where.map(lambda where: where and where.under("metadata")))
    find = partial(_find_passages, collection, snapshot, rows)
    facts: list[dict[str, Any]] = [{} for _ in texts]
    if options.hybrid is not None:
        fused = search_hybrid(collection.bm25, snapshot, texts, options, find, keys)
        found: Sequence[Hits] = [answer.hits for answer in fused]
        facts = [{"hybrid": answer.scores, "_report": answer.report} for answer in fused]
    elif options.first_stage is not None:
        bm25 = options.first_stage == "bm25"
        stage = collection.bm25 if options.first_stage == "bm25" else options.first_stage
        candidates = first_candidates(stage, texts, options, keys, snapshot)
        facts = [{"first_stage": "bm25" if bm25 else "a function", "depth": options.depth} for _ in texts]
        options = replace(options, first_stage=None, candidates=PerQuery(list(candidates)))
        found = find(options)
    else:
        found = find(options)
    return [
        TextHits.of_passages(
            hits,
            keys,
            query=text,
            _encoder=collection.encoder,
            _count=partial(_count_searched, snapshot, options, query, keys),
            **_scope(options, query),
            **own,
        )
        for query, (text, hits, own) in enumerate(zip(texts, found, facts, strict=True))
    ]


def _scope(options: SearchOptions, query: int) -> dict[str, Any]:
    """Among which documents a query was searched, by the options."""
    where = options.where.of(query)
    scope = "candidates" if options.candidates.of(query) is not None else "all" if where is None else "matching"
    return {"scope": scope, "where": None if where is None else where.given}


def _find_passages(collection: Collection, snapshot: AnySnapshot, rows: Rows, options: SearchOptions) -> Sequence[Hits]:
    """The best passages for each query. The options name documents; the index has passages."""
    keys = collection.keys
    if keys.passages and options.restricted:
        options = replace(
            options,
            candidates=options.candidates.map(lambda ids: _to_keys(ids, keys, snapshot, "candidates")),
            exclude=options.exclude.map(lambda ids: _to_keys(ids, keys, snapshot, "exclude")),
        )
    return collection.index.answer(rows, options, snapshot)


def _to_keys(ids: Any, keys: Keys, snapshot: AnySnapshot, what: str) -> list[Id] | None:
    """The keys of all passages of some documents, which are given as ids or as a mask."""
    if isinstance(ids, np.ndarray):
        if ids.shape != (keys.count(snapshot),):
            raise ValueError(f"{what} is a mask of shape {ids.shape} for {keys.count(snapshot)} documents")
        ids = compress(keys.firsts(snapshot.ids_in_order()), ids)
    return None if ids is None else keys.of_all(ids, snapshot, what)


def _count_searched(snapshot: AnySnapshot, options: SearchOptions, query: int, keys: Keys) -> int:
    """How many documents a query was compared with."""
    candidates, where = options.candidates.of(query), options.where.of(query)
    unwanted = set(options.exclude.of(query) or ())
    if where is None and candidates is None:
        return keys.count(snapshot) - len(unwanted)
    if where is None and isinstance(candidates, list):
        return len(set(candidates) - unwanted)
    here = snapshot.here
    named: Candidates = candidates
    if isinstance(candidates, np.ndarray):
        named = list(compress(keys.firsts(here.ids_in_order()), candidates))
    if where is None:
        return len(set(named or ()) - unwanted)
    matching = here.matching(where)[here.live]
    if not keys.passages and named is None and not unwanted:
        return int(matching.sum())
    found = set(keys.firsts(compress(here.live_ids(), matching))) - unwanted
    return len(found if named is None else found.intersection(named))

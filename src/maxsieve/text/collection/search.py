"""Searches a collection: from the text of queries to hits with texts.

All steps of a search read the same version of the collection, so that a change meanwhile makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import Function, hinted
from maxsieve.hits import Hits
from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.options import NOT_GIVEN, PerQuery, SearchOptions
from maxsieve.policies import CERTIFIED, Calibrated
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.additions import check_text
from maxsieve.text.collection.fast_path import default_policies
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.lexical.bm25 import first_candidates
from maxsieve.text.lexical.hybrid import search_hybrid
from maxsieve.text.passages import Keys
from maxsieve.where import Where, to_where

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
    vectors: Rows | None = None,
    snapshot: AnySnapshot | None = None,
) -> list[TextHits]:
    """The k best documents for each text. ``vectors`` are those of the texts, if they are encoded already."""
    if type(options.policy) is Calibrated:  # before anything is encoded
        check_calibrated(collection, filtered=options.where.given)
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


def on_metadata(where: Any) -> Where | None:
    """A filter of documents, as one of the records that hold their metadata."""
    condition = to_where(where)
    return condition and condition.under("metadata")


def check_calibrated(collection: Collection, *, filtered: bool) -> None:
    """Raises an error that names the missing call, if the collection is not calibrated; ``filtered``: in any way."""
    if not (collection.calibrated or (filtered and collection.index.storage.snapshot.calibrations)):
        wrong = ValueError("this collection is not calibrated")
        raise hinted(wrong, ": {} does that, on sentences of its documents or your own queries", Function("calibrate"))


def _search(
    collection: Collection, texts: Sequence[str], rows: Rows, options: SearchOptions, snapshot: AnySnapshot
) -> list[TextHits]:
    """The hits in a version of the collection."""
    keys, dim, per_document = collection.keys, snapshot.layout.dim, options.per_document
    rows = [row[:, :dim] for row in rows]  # shorter only while there are no vectors and no projection
    if per_document > 1:
        options = replace(options, per_document=1)
    if options.where.given:
        options = replace(options, where=options.where.map(on_metadata))
    units = keys if options.by == "document" else keys.flat
    if units is not keys:
        options = _to_passages(options, keys, snapshot)
    find = partial(_find_passages, collection.index, snapshot, rows, units)
    facts: list[dict[str, Any]] = [{} for _ in texts]
    if options.hybrid is not None:
        options = replace(options, policy=options.policy or CERTIFIED)  # no calibration is about fused scores
        fused = search_hybrid(collection.bm25, snapshot, texts, options, find, units)
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
    answers = [
        TextHits.of_passages(
            hits,
            keys,
            query=text,
            by=options.by,
            _encoder=collection.encoder,
            _count=partial(_count_searched, snapshot, options, query, units),
            _pictures=collection.pictures,
            **_scope(options, query),
            **own,
        )
        for query, (text, hits, own) in enumerate(zip(texts, found, facts, strict=True))
    ]
    return answers if per_document == 1 else _with_passages(collection, rows, options, answers, per_document)


def _with_passages(
    collection: Collection, rows: Rows, options: SearchOptions, answers: list[TextHits], most: int
) -> list[TextHits]:
    """Documents with their best passages, at most so many of each: one search among the passages of each document."""
    keys = collection.keys
    found = [(row, hits, id) for row, hits in zip(rows, answers, strict=True) for id in hits.ids]
    if not found:
        return answers
    snapshot = answers[0].snapshot
    among = [keys.of_all([id], snapshot, "candidates") for _, _, id in found]
    plain = replace(
        options,
        k=most,
        by="passage",
        policy=CERTIFIED,
        candidates=PerQuery(list(among)),
        exclude=NOT_GIVEN,
        where=NOT_GIVEN,
        hybrid=None,
        trace=False,
    )
    best = zip(collection.index.answer([row for row, _, _ in found], plain, snapshot), map(len, among), strict=True)
    return [replace(hits, _best=[hits.of_document(*one) for one in islice(best, len(hits))]) for hits in answers]


def _scope(options: SearchOptions, query: int) -> dict[str, Any]:
    """Among which documents a query was searched, by the options."""
    where = options.where.of(query)
    scope = "candidates" if options.candidates.of(query) is not None else "all" if where is None else "matching"
    return {"scope": scope, "where": None if where is None else where.given}


def _find_passages(
    index: Index, snapshot: AnySnapshot, rows: Rows, units: Keys, options: SearchOptions
) -> Sequence[Hits]:
    """The best passages for each query. The options name units; the index has passages."""
    if units.passages and options.restricted:
        options = _to_passages(options, units, snapshot)
    if options.policy is not None or not snapshot.calibrations:
        return index.answer(rows, options, snapshot)
    policies = default_policies(options, snapshot, list(map(len, rows)), units.group_by)
    found: dict[int, Hits] = {}
    for policy in dict.fromkeys(policies):
        some = [query for query, chosen in enumerate(policies) if chosen == policy]
        own = replace(options if len(some) == len(rows) else options.of_queries(*some), policy=policy)
        found.update(zip(some, index.answer([rows[query] for query in some], own, snapshot), strict=True))
    return [found[query] for query in range(len(rows))]


def _to_passages(options: SearchOptions, keys: Keys, snapshot: AnySnapshot) -> SearchOptions:
    """Options that name passages, from options that name documents."""
    return replace(
        options,
        candidates=options.candidates.map(lambda ids: _to_keys(ids, keys, snapshot, "candidates")),
        exclude=options.exclude.map(lambda ids: _to_keys(ids, keys, snapshot, "exclude")),
    )


def _to_keys(ids: Any, keys: Keys, snapshot: AnySnapshot, what: str) -> list[Id] | None:
    """The keys of all passages of some documents, which are given as ids or as a mask."""
    if isinstance(ids, np.ndarray):
        if ids.shape != (keys.count(snapshot),):
            raise ValueError(f"{what} is a mask of shape {ids.shape} for {keys.count(snapshot)} documents")
        ids = compress(keys.firsts(snapshot.ids_in_order()), ids)
    return None if ids is None else keys.of_all(ids, snapshot, what)


def _count_searched(snapshot: AnySnapshot, options: SearchOptions, query: int, named: Keys, counted: Keys) -> int:
    """How many documents or passages a query was compared with. The options may name passages, to count documents."""
    candidates, where = options.candidates.of(query), options.where.of(query)
    unwanted = set(options.exclude.of(query) or ())

    def count(found: set[Id]) -> int:
        return len(found if named is counted else set(map(counted.document, found)))

    if where is None and candidates is None:
        return counted.count(snapshot) - count(unwanted)
    if where is None and isinstance(candidates, list):
        return count(set(candidates) - unwanted)
    here = snapshot.here
    if isinstance(candidates, np.ndarray):
        candidates = list(compress(named.firsts(here.ids_in_order()), candidates))
    if where is None:
        return count(set(candidates or ()) - unwanted)
    matching = here.matching(where)[here.live]
    if not counted.passages and candidates is None and not unwanted:
        return int(matching.sum())
    found = set(named.firsts(compress(here.live_ids(), matching))) - unwanted
    return count(found if candidates is None else found.intersection(candidates))

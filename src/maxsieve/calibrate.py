"""Makes calibrations of an index, and brings them up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.groups import GroupBy, best_groups, count_groups
from maxsieve.ids import Id
from maxsieve.options import PerQuery, SearchOptions
from maxsieve.policies import CERTIFIED
from maxsieve.searcher import PreparedSearch, Searcher, select
from maxsieve.storage.calibration import (
    KINDS,
    BestHits,
    Calibration,
    Origin,
)
from maxsieve.storage.codebook import Walk, walks_for
from maxsieve.storage.storage import AnySnapshot, awaits_codebook
from maxsieve.where import Where

BATCH = 32
"""How many queries are searched at a time."""

STEP_TOKENS = 1 << 22
"""An update searches about so many new tokens at once: with 256 queries, some ten seconds of a core with VNNI."""

TIMEOUT = 600.0
"""Seconds that a calibration waits for the members of a cluster."""


class Wanted(NamedTuple):
    """What a calibration is made from: queries [T, d], for a top k."""

    queries: list[NDArray[np.float32]]
    k: int
    origin: Origin
    where: Where | None = None

    @classmethod
    def of(cls, old: Calibration) -> Wanted:
        """What a calibration was made from."""
        return cls(old.queries, old.wanted, old.origin, old.where)


class FoundHits(NamedTuple):
    """The best hits of one query, of one kind: ids and scores, best first."""

    ids: list[Id]
    scores: list[float]


def spare(k: int) -> int:
    """How many hits beyond k are kept, so that a guarantee for k survives the deletion of some hits."""
    return max(10, k // 10)


def calibrate(
    snapshot: AnySnapshot,
    searcher: Searcher,
    wanted: Wanted,
    group_by: GroupBy | None,
    advance: Callable[[int], None],
) -> Calibration:
    """A calibration of a version with a codebook, for a top k of documents and, with ``group_by``, of groups."""
    queries, k, origin, where = wanted
    own = int(origin == "own sentences")
    check_findable(snapshot, where)
    if count_groups(snapshot, group_by) == own:
        raise ValueError("own sentences need at least two documents: the one they come from does not count")
    hits: dict[str, list[FoundHits]] = {kind: [] for kind in kinds_of(group_by)}
    ranks: dict[str, list[NDArray[np.int64]]] = {kind: [] for kind in hits}
    walks, matching = walks_of(snapshot), 0
    for first in range(0, len(queries), BATCH):
        some = queries[first : first + BATCH]
        search, options = _prepare(snapshot, searcher, some, k + own + spare(k), where)
        found, matching = _best(search, len(some), options.k, group_by)
        for kind, of_kind in found.items():
            hits[kind] += of_kind
            ranks[kind] += _ranks(search, of_kind, walks)
        advance(len(some))
    return to_calibration(hits, ranks, walks, wanted, matching)


def update(
    snapshot: AnySnapshot,
    before: AnySnapshot,
    searcher: Searcher,
    old: Calibration,
    group_by: GroupBy | None,
    advance: Callable[[int], None],
    until: int | None = None,
) -> Calibration:
    """A calibration of the version ``before``, brought up to date: only documents added since then are searched.

    The top k of all documents is in the union of the old top k and that of the new documents. Deleted hits are struck;
    a query is searched again only if too few are left. Ranks are computed again, which needs no search. It gives what
    `calibrate` gives, with the hits that are left beyond k. If vectors became residuals, all scores are others.

    With ``until``, it is as if documents from this number on, in insertion order, were added later: see `end_of_step`.
    """
    wanted = Wanted.of(old)
    check_findable(snapshot, old.where)
    walks, own = walks_of(snapshot), int(old.origin == "own sentences")
    if not _knows_hits(old, before, snapshot, group_by):
        return calibrate(snapshot, searcher, wanted, group_by, advance)
    left = {kind: _left(old.hits[kind], before, group_by if kind == KINDS[1] else None) for kind in old.hits}
    new = documents_between(snapshot, before.since, until)
    covered = None if until is None else documents_between(snapshot, 0, until)
    hits: dict[str, list[FoundHits]] = {kind: [] for kind in old.hits}
    ranks: dict[str, list[NDArray[np.int64]]] = {kind: [] for kind in old.hits}
    matching = n_matching(snapshot, old.where, until)
    for first in range(0, old.n_queries, BATCH):
        some = wanted.queries[first : first + BATCH]
        everything, options = _prepare(snapshot, searcher, some, old.wanted + own + spare(old.wanted), old.where)
        fresh: dict[str, list[FoundHits]] = {kind: [FoundHits([], [])] * len(some) for kind in hits}
        if new.any():
            among = _prepare(snapshot, searcher, some, options.k, old.where, new)[0]
            fresh, _ = _best(among, len(some), options.k, group_by)
        short: set[int] = set()
        merged: dict[str, list[FoundHits]] = {}
        for kind in hits:
            group = group_by if kind == KINDS[1] else None
            merged[kind] = [
                _merge(known, complete, more, options.k, group)
                for (known, complete), more in zip(left[kind][first : first + len(some)], fresh[kind], strict=True)
            ]
            needed = min(old.wanted + own, matching if group is None else count_groups(snapshot, group))
            short |= {query for query, found in enumerate(merged[kind]) if len(found.ids) < needed}
        if short:
            numbers = sorted(short)
            once = _prepare(snapshot, searcher, [some[query] for query in numbers], options.k, old.where, covered)[0]
            for kind, found in _best(once, len(numbers), options.k, group_by)[0].items():
                for query, one in zip(numbers, found, strict=True):
                    merged[kind][query] = one
        for kind, of_kind in merged.items():
            hits[kind] += of_kind
            ranks[kind] += _ranks(everything, of_kind, walks, until)
        advance(len(some))
    return to_calibration(hits, ranks, walks, wanted, matching)


def end_of_step(snapshot: AnySnapshot, before: AnySnapshot, group_by: GroupBy | None) -> int | None:
    """Up to which number, in insertion order, the next step of an update goes; None if it goes to the end.

    A long update is done in steps, so that an interrupted one can be continued. After each step, the calibrations are
    what they would be if the documents behind it had been added later. All these are followed up, and the claim on
    growth holds as for any new documents (docs/theory.md, section 10). A step ends at a number of tokens, which no
    query can influence. Each calibration must have enough documents before that for all the hits that it wants.
    """
    here = snapshot.here
    positions = here.insertion_order
    new = positions[here.numbers(positions) >= before.since]
    last = int(np.searchsorted(np.cumsum(here.lengths[new]), STEP_TOKENS))
    if last + 1 >= len(new):
        return None
    until = int(here.numbers(new[last + 1 : last + 2])[0])

    def is_enough_for(calibration: Calibration) -> bool:
        wanted = calibration.wanted + spare(calibration.wanted) + int(calibration.origin == "own sentences")
        found = select(here, None, None, calibration.where)
        covered = found[here.numbers(found) < until]
        if group_by is None:
            return len(covered) >= min(wanted, len(found))
        groups, all_groups = (len(set(map(group_by, here.ids_at(some.tolist())))) for some in (covered, found))
        return groups >= min(wanted, all_groups)

    kept = [one for one in before.calibrations if can_update(snapshot, one)]
    return until if all(_knows_hits(one, before, snapshot, group_by) and is_enough_for(one) for one in kept) else None


def _knows_hits(old: Calibration, before: AnySnapshot, snapshot: AnySnapshot, group_by: GroupBy | None) -> bool:
    """Whether an update can start from the hits of a calibration.

    That of an earlier version may have none. If vectors became residuals, all scores are others.
    """
    same_scores = awaits_codebook(before) == awaits_codebook(snapshot)
    return same_scores and old.hits_are_known and set(old.hits) == set(kinds_of(group_by))


def n_matching(snapshot: AnySnapshot, where: Where | None, until: int | None = None) -> int:
    """The number of documents that can be hits, match a filter, and were added before a number, in insertion order."""
    if where is None and until is None:
        return snapshot.n_searchable
    here = snapshot.here
    found = select(here, None, None, where)
    return len(found) if until is None else int((here.numbers(found) < until).sum())


def check_findable(snapshot: AnySnapshot, where: Where | None) -> None:
    """Raises an error if no document can be a hit."""
    if not n_matching(snapshot, where):
        what = "there are no documents to find" if where is None else "no documents match the filter"
        raise ValueError(f"{what}: add some before calibrating")


def can_update(snapshot: AnySnapshot, old: Calibration) -> bool:
    """Whether enough documents are left for a calibration. The one that an own sentence comes from does not count."""
    return n_matching(snapshot, old.where) > int(old.origin == "own sentences")


def walks_of(snapshot: AnySnapshot) -> tuple[Walk | None, ...]:
    """The walks that an index is calibrated for; (None,) if it has tier 0, and no lists."""
    book = snapshot.codebook
    if book is None or book.is_tier0:
        return (None,)
    # that of a store was trained on the first tokens
    return walks_for(snapshot.n_tokens if book.bits else book.tokens, book.centroids)


def kinds_of(group_by: GroupBy | None) -> tuple[str, ...]:
    """The kinds of hits that an index is calibrated for."""
    return KINDS[:1] if group_by is None else KINDS


def _prepare(
    snapshot: AnySnapshot,
    searcher: Searcher,
    queries: Sequence[NDArray[np.float32]],
    k: int,
    where: Where | None,
    among: NDArray[np.bool_] | None = None,
) -> tuple[PreparedSearch, SearchOptions]:
    given: PerQuery[Where | None] = PerQuery([where])
    options = SearchOptions(k, timeout=TIMEOUT, where=given, candidates=PerQuery([among]))
    return searcher.prepare(snapshot, queries, options), options


def _best(
    search: PreparedSearch, queries: int, k: int, group_by: GroupBy | None
) -> tuple[dict[str, list[FoundHits]], int]:
    """The best hits of each kind, and how many documents were searched."""
    found: dict[str, list[FoundHits]] = {kind: [] for kind in kinds_of(group_by)}
    searched = 0
    for ranking, entries in best_groups(search, queries, k, lambda _: CERTIFIED, group_by):
        ids, scores = ranking.ids, ranking.scores.tolist()
        found[KINDS[0]].append(FoundHits(ids[:k], scores[:k]))
        if entries is not None:
            found[KINDS[1]].append(FoundHits([ids[i] for i in entries], [scores[i] for i in entries]))
        searched = ranking.n_searched
    return found, searched


def _ranks(
    search: PreparedSearch, hits: Sequence[FoundHits], walks: Sequence[Walk | None], until: int | None = None
) -> list[NDArray[np.int64]]:
    """The ranks [walks, hits] of each query's hits."""
    wanted = [(query, found.ids) for query, found in enumerate(hits)]
    return [np.stack(ranks) for ranks in zip(*(search.ranks(wanted, walk, until) for walk in walks), strict=True)]


def to_best_hits(hits: Sequence[FoundHits], ranks: Sequence[NDArray[np.int64]]) -> BestHits:
    """The hits of all queries, as many of each as all have, and their ranks [walks, hits]."""
    k = min(len(found.ids) for found in hits)
    table = np.stack([of_query[:, :k] for of_query in ranks], axis=1)
    return BestHits(
        table, np.array([found.scores[:k] for found in hits], np.float32), [found.ids[:k] for found in hits]
    )


def to_calibration(
    found: dict[str, list[FoundHits]],
    ranks: dict[str, list[NDArray[np.int64]]],
    walks: tuple[Walk | None, ...],
    wanted: Wanted,
    documents: int,
) -> Calibration:
    """A calibration from the best hits of each kind, and their ranks. So many ``documents`` can be hits.

    Tier 0 keeps the form that earlier versions of maxsieve read: ranks of one kind alone, for k hits.
    """
    hits = {kind: to_best_hits(found[kind], ranks[kind]) for kind in found}
    if walks == (None,):
        kind, best = [*hits.items()][-1]
        counted = best.counted(best.ranks, wanted.origin)[:, :, : wanted.k]
        hits = {kind: BestHits(counted, np.zeros(counted.shape[1:], np.float32), None)}
    lengths = np.array([len(query) for query in wanted.queries], np.int64)
    rows, now = np.concatenate(wanted.queries), int(time.time())
    return Calibration(hits, walks, rows, lengths, documents, now, wanted.origin, wanted.k, wanted.where)


def documents_between(snapshot: AnySnapshot, since: int, until: int | None = None) -> NDArray[np.bool_]:
    """Which documents were added from a number on, and before another, as a mask over all ids in insertion order."""
    numbers = np.sort(snapshot.here.numbers(snapshot.here.live))
    chosen: NDArray[np.bool_] = numbers >= since
    return chosen if until is None else chosen & (numbers < until)


def _left(best: BestHits, snapshot: AnySnapshot, group_by: GroupBy | None) -> list[tuple[list[tuple[Id, float]], bool]]:
    """Each query's hits that are left, and whether all of them are known up to the last one.

    A deleted hit is struck. If its group still has documents from before, one of them may be a hit now, at an unknown
    place: then nothing is left.
    """
    state = hit_states(best, snapshot, group_by)
    return [
        ([(id, score) for id, score, one in zip(ids, scores, states, strict=True) if one == HERE], PARTLY not in states)
        for ids, scores, states in zip(best.ids or (), best.scores.tolist(), state, strict=True)
    ]


def _merge(
    known: Sequence[tuple[Id, float]], complete: bool, fresh: FoundHits, k: int, group_by: GroupBy | None
) -> FoundHits:
    """The best hits among old and new ones: of equal scores, the old one comes first.

    What comes after the last old one is not known completely, and left out. With groups, only the best of a group.
    """
    if not complete or not known:
        return FoundHits([], [])
    both = [
        *((-score, 0, id) for id, score in known),
        *zip((-s for s in fresh.scores), [1] * k, fresh.ids, strict=False),
    ]
    merged, seen = [], set[Hashable]()
    for score, new, id in sorted(both, key=lambda hit: hit[:2]):
        group: Hashable = id if group_by is None else group_by(id)
        if group not in seen:
            merged.append((id, -score, new))
        seen.add(group)
    while merged and merged[-1][2]:
        merged.pop()
    return FoundHits([id for id, _, _ in merged][:k], [score for _, score, _ in merged][:k])


HERE, GONE, PARTLY = 0, 1, 2
"""A hit is here; it was deleted, or replaced; it was deleted, but other documents of its group were not."""


def hit_states(best: BestHits, snapshot: AnySnapshot, group_by: GroupBy | None) -> list[list[int]]:
    """Whether each query's hits are still there in a later version."""
    ids = {id for row in best.ids or () for id in row}
    since = snapshot.since
    here = {id for id, order in snapshot.orders(ids).items() if order < since}
    left: set[Hashable] = set()
    if group_by is not None and len(here) < len(ids):
        whole = snapshot.here
        orders = whole.sequence if whole.layout.sequenced else np.arange(whole.starts[-1])
        old = whole.searchable[orders[whole.searchable] < since]
        left = set(map(group_by, whole.ids_at(old.tolist())))

    def state(id: Id) -> int:
        if id in here:
            return HERE
        return PARTLY if group_by is not None and group_by(id) in left else GONE

    known = {id: state(id) for id in ids}
    return [[known[id] for id in row] for row in best.ids or ()]

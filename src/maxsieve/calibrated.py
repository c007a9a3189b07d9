"""Calibrates an index, and decides how many documents `Calibrated` follows up."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import Argument, Function, hinted
from maxsieve.groups import FIRST, GROWTH, GroupBy, are_whole_groups, best_groups, count_groups
from maxsieve.hits import Promise
from maxsieve.ids import Id
from maxsieve.options import PerQuery, SearchOptions
from maxsieve.policies import CERTIFIED, MOST, Bandit, Calibrated, CalibratedDepth, FixedPolicy
from maxsieve.searcher import PreparedSearch, Searcher, select
from maxsieve.storage.calibration import (
    INFINITE,
    KINDS,
    BestHits,
    Calibration,
    Origin,
    calibration_for,
    most_overlap,
    queries_needed,
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
    new = _documents(snapshot, before.since, until)
    covered = None if until is None else _documents(snapshot, 0, until)
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


def _documents(snapshot: AnySnapshot, since: int, until: int | None = None) -> NDArray[np.bool_]:
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


_CURRENT: WeakKeyDictionary[AnySnapshot, dict[tuple[int, str], NDArray[np.int64] | None]] = WeakKeyDictionary()


def current_ranks(
    calibration: Calibration, kind: str, snapshot: AnySnapshot, group_by: GroupBy | None
) -> NDArray[np.int64] | None:
    """Upper bounds [walks, queries, hits] of the ranks of each query's best hits now; None if there are none.

    New documents are all followed up, so they do not count. Deleted hits are struck (docs/theory.md, section 10). An
    unknown rank counts as infinite.
    """
    best = calibration.hits[kind]
    if not snapshot.changes.deleted:
        return best.ranks
    if best.ids is None:
        return None
    known = _CURRENT.setdefault(snapshot, {})
    key = id(calibration), kind
    if key not in known:
        states = np.array(hit_states(best, snapshot, group_by if kind == KINDS[1] else None))
        ranks = np.where(states[None] == PARTLY, INFINITE, best.ranks)
        behind = np.argsort(states == GONE, axis=1, kind="stable")
        ranks = np.take_along_axis(ranks, np.broadcast_to(behind, ranks.shape), axis=2)
        gone = np.take_along_axis(states == GONE, behind, axis=1)
        known[key] = np.where(gone[None], INFINITE, ranks)
    return known[key]


def is_behind(snapshot: AnySnapshot) -> bool:
    """Whether lists or calibrations can be brought up to date: documents were added or deleted, or have no lists."""
    if snapshot.codebook is None or snapshot.codebook.is_tier0:
        return False
    if snapshot.calibration is not None and not can_update(snapshot, snapshot.calibration):
        return False
    changed = bool(snapshot.calibrations) and any(snapshot.changes)
    return changed or snapshot.here.lacks_lists


USUAL_K, USUAL_OVERLAP = 10, 0.99
"""The search for which an update must pay."""


def update_pays(snapshot: AnySnapshot, group_by: GroupBy | None) -> bool:
    """Whether an update would make searches by a calibration clearly faster.

    It does if a usual search follows up more new documents than others, or is exact only because hits were deleted.
    """
    return is_behind(snapshot) and any(_update_pays(one, snapshot, group_by) for one in snapshot.calibrations)


def _update_pays(calibration: Calibration, snapshot: AnySnapshot, group_by: GroupBy | None) -> bool:
    k, kind = min(USUAL_K, calibration.k), [*calibration.hits][-1]
    overlap = Fraction(str(min(USUAL_OVERLAP, most_overlap(calibration.n_queries))))
    if not can_update(snapshot, calibration) or not calibration.enough_for(overlap):
        return False
    new = len(select(snapshot.here, _documents(snapshot, snapshot.since), None, calibration.where))
    depth = calibration.depth(k, overlap, kind=kind)
    ranks = current_ranks(calibration, kind, snapshot, group_by)
    now = INFINITE if ranks is None else calibration.depth_by(ranks, k, overlap, None, kind)
    return new > depth or now == INFINITE != depth


def check_calibrated(calibration: Calibration | None) -> Calibration:
    """The calibration of an index; an error if it has none."""
    if calibration is None:
        wrong = ValueError("this index is not calibrated")
        raise hinted(wrong, ": {} does that", Function("calibrate", (Argument("queries"),)))
    return calibration


def plan(
    options: SearchOptions, snapshot: AnySnapshot, queries: int, group_by: GroupBy | None
) -> tuple[Callable[[int], FixedPolicy], Promise | None]:
    """The policy for each attempt, and the guarantee of the answer.

    `Calibrated` answers by `Certified`, exactly, where a calibration says nothing: with candidates, with a filter that
    was not calibrated, if too many documents are excluded, and if the depth is infinite.

    If documents are excluded, the top k of the others is in the top k + excluded of all: docs/theory.md, section 10,
    has the stricter target that this needs. The largest number that any query excludes counts. If only some documents
    of a group are excluded, the group is not the one that was calibrated on.

    Each further attempt of `Bandit` has half the delta of the one before, so that all attempts together stay within
    delta. A further attempt of `Calibrated` follows up more documents, which can only find more.
    """
    policy, k = options.policy or CERTIFIED, options.k
    if type(policy) is Bandit and group_by is not None:
        return lambda attempt: replace(policy, delta=policy.delta / 2 ** (attempt + 1)), None
    if not isinstance(policy, Calibrated):
        return lambda _: policy, None
    if options.restricted:
        return _plan_restricted(policy, options, snapshot, queries, group_by)
    calibration = check_calibrated(snapshot.calibration)
    if group_by is not None:
        return _plan(policy, k, calibration, snapshot, group_by)
    known = _PLANS.setdefault(snapshot, {})
    if (policy, k) not in known:
        made = _plan(policy, k, calibration, snapshot, None)
        if len(known) >= MOST_PLANS:
            return made
        known[policy, k] = made
    return known[policy, k]


def followed_up(options: SearchOptions, snapshot: AnySnapshot, queries: int, group_by: GroupBy | None) -> int | None:
    """How many documents a search by `Calibrated` follows up at first, new ones included; None if it can't be used.

    It can't if there is no calibration for the search, or if that has no finite depth for it: then it would be exact.
    """
    try:
        policy, _ = plan(options, snapshot, queries, group_by)
    except ValueError:
        return None
    first = policy(0)
    return first.depth + snapshot.changes.added if isinstance(first, CalibratedDepth) else None


Plan = tuple[Callable[[int], FixedPolicy], Promise | None]

_PLANS: WeakKeyDictionary[AnySnapshot, dict[tuple[Calibrated, int], Plan]] = WeakKeyDictionary()
"""Plans of usual searches: a version of an index has the same ones for all queries."""

MOST_PLANS = 64

EXACT: tuple[Callable[[int], FixedPolicy], None] = (lambda _: CERTIFIED), None


def _plan_restricted(
    policy: Calibrated, options: SearchOptions, snapshot: AnySnapshot, queries: int, group_by: GroupBy | None
) -> tuple[Callable[[int], FixedPolicy], Promise | None]:
    """`plan` with candidates, excluded documents, or a filter."""
    filters = {options.where.of(query) for query in range(queries)}
    exclude = [ids for query in range(queries) if (ids := options.exclude.of(query)) is not None]
    if options.candidates.given or len(filters) != 1:
        return EXACT
    (where,) = filters
    calibration = calibration_for(where, snapshot.calibrations)
    if calibration is None:
        return EXACT
    excluded = max((len(set(ids)) for ids in exclude), default=0)
    k = options.k + excluded
    target = 1 - (1 - policy.target) * Fraction(options.k, k)
    holds = k <= calibration.k and calibration.enough_for(target) and (policy.tail is None or not excluded)
    if not holds or not all(are_whole_groups(snapshot, ids, group_by) for ids in exclude):
        return EXACT
    return _plan(policy, k, calibration, snapshot, group_by, target)


def _plan(
    policy: Calibrated,
    k: int,
    calibration: Calibration,
    snapshot: AnySnapshot,
    group_by: GroupBy | None,
    target: Fraction | None = None,
) -> tuple[Callable[[int], FixedPolicy], Promise | None]:
    """How a calibration answers for a top k."""
    needed = policy.tail or target or policy.target
    promise = Promise(
        "calibrated",
        calibration.origin,
        snapshot.changes,
        None if calibration.where is None else calibration.where.given,
    )
    if snapshot.n_searchable <= k:
        return lambda _: CERTIFIED, promise
    if not calibration.enough_for(needed):
        what = f"a share of {policy.share}" if policy.tail else f"an overlap of {policy.overlap}"
        raise ValueError(
            f"{what} needs {queries_needed(needed)} calibration queries; "
            f"this index was calibrated with {calibration.n_queries}, which is enough for "
            f"{most_overlap(calibration.n_queries):g}"
        )
    if k > calibration.k:
        wrong = ValueError(f"k is {k}, but this index was calibrated for k up to {calibration.k}")
        raise hinted(wrong, ": {}", Function("calibrate", (Argument("k", k),)))
    kind = KINDS[0] if group_by is None else KINDS[1]
    ranks = current_ranks(calibration, kind, snapshot, group_by) if kind in calibration.hits else None
    if ranks is None:
        return lambda _: CERTIFIED, promise
    overlap = target or policy.target
    number = calibration.walk(k, overlap)
    if ranks is calibration.hits[kind].ranks:
        depth = calibration.depth(k, overlap, policy.tail, kind)
    else:
        depth = calibration.depth_by(ranks, k, overlap, policy.tail, kind)
    if depth == INFINITE:
        return lambda _: CERTIFIED, promise
    least = depth_at_least(depth, k, grouped=group_by is not None)
    length, walk, since = snapshot.mean_length, calibration.walks[number], snapshot.since
    return lambda attempt: CalibratedDepth(min(least * GROWTH**attempt, MOST), length, walk, since), promise


def depth_at_least(depth: int, k: int, *, grouped: bool) -> int:
    """The documents that are followed up: an attempt for groups searches for more documents than k."""
    return max(depth, k * FIRST if grouped else k)

"""Decides how many documents `Calibrated` follows up, and what that promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from maxsieve.calibrate import GONE, PARTLY, can_update, documents_between, hit_states
from maxsieve.errors import Argument, Function, hinted
from maxsieve.groups import FIRST, GROWTH, GroupBy, are_whole_groups
from maxsieve.hits import Promise
from maxsieve.options import SearchOptions
from maxsieve.policies import CERTIFIED, MOST, Bandit, Calibrated, CalibratedDepth, FixedPolicy
from maxsieve.searcher import select
from maxsieve.storage.calibration import (
    INFINITE,
    KINDS,
    Calibration,
    calibration_for,
    most_overlap,
    queries_needed,
)
from maxsieve.storage.storage import AnySnapshot

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
    new = len(select(snapshot.here, documents_between(snapshot, snapshot.since), None, calibration.where))
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

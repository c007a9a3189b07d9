"""Calibrates an index, and decides how many documents `Calibrated` follows up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import Argument, Function, hinted
from maxsieve.groups import GROWTH, GroupBy, are_whole_groups, best_groups, count_groups
from maxsieve.hits import Promise
from maxsieve.options import SearchOptions
from maxsieve.policies import CERTIFIED, MOST, Bandit, Calibrated, CalibratedDepth, FixedPolicy
from maxsieve.searcher import Searcher
from maxsieve.storage.calibration import Calibration, Origin, most_overlap, queries_needed
from maxsieve.storage.storage import AnySnapshot

BATCH = 32
"""How many queries are searched at a time."""

TIMEOUT = 600.0
"""Seconds that a calibration waits for the members of a cluster."""


def calibrate(
    snapshot: AnySnapshot,
    searcher: Searcher,
    queries: Sequence[NDArray[np.float32]],
    k: int,
    origin: Origin,
    group_by: GroupBy | None,
    advance: Callable[[int], None],
) -> Calibration:
    """A calibration of a version with a codebook, for a top k of groups. Without grouping, a document is a group.

    The best hit of an own sentence is the group it was taken from, which no tier misses. So it does not count: the next
    k hits do, ranked in the list without that group's best document. (Other documents of the group may stay in the
    list. They can only increase a rank, so the calibration stays valid.)
    """
    groups = count_groups(snapshot, group_by)
    own = int(origin == "own sentences")
    if not groups:
        raise ValueError("there are no documents to find: add some before calibrating")
    if groups == own:
        raise ValueError("own sentences need at least two documents: the one they come from does not count")
    wanted, k = k, min(k, groups - own)
    ranks = np.empty((len(queries), k + own), np.int64)
    for first in range(0, len(queries), BATCH):
        some = queries[first : first + BATCH]
        search = searcher.prepare(snapshot, some, SearchOptions(k + own, timeout=TIMEOUT))
        found = []
        for number, (ranking, entries) in enumerate(
            best_groups(search, len(some), k + own, lambda _: CERTIFIED, group_by)
        ):
            found.append((number, ranking, list(range(len(ranking.ids))) if entries is None else entries))
        ranks[first : first + len(some)] = list(search.ranks_by_tier0(found))
        advance(len(some))
    return to_calibration(ranks, queries, snapshot.n_searchable, origin, wanted, grouped=group_by is not None)


def to_calibration(
    ranks: NDArray[np.int64],
    queries: Sequence[NDArray[np.float32]],
    documents: int,
    origin: Origin,
    wanted: int,
    *,
    grouped: bool,
) -> Calibration:
    """A calibration from the ranks by tier 0 of each query's best documents [queries, k], best first.

    ``documents`` is the number of documents that can be hits. For own sentences there is one more column, the first,
    with the ranks of the documents they come from.
    """
    if origin == "own sentences":
        ranks = ranks[:, 1:] - (ranks[:, 1:] > ranks[:, :1])
    lengths = np.array([len(query) for query in queries], np.int64)
    rows, now = np.concatenate(list(queries)), int(time.time())
    return Calibration(ranks, rows, lengths, documents, now, origin, wanted, grouped)


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

    If any query has candidates or a filter, `Calibrated` guarantees nothing.

    If documents are excluded, the top k of the others is in the top k + excluded of all: docs/theory.md, section 10,
    has the stricter target that this needs. The largest number that any query excludes counts. If only some documents
    of a group are excluded, the group is not the one that was calibrated on, and nothing is guaranteed.

    Each further attempt of `Bandit` has half the delta of the one before, so that all attempts together stay within
    delta. A further attempt of `Calibrated` follows up more documents, which can only find more.
    """
    policy, k = options.policy, options.k
    if type(policy) is Bandit and group_by is not None:
        return lambda attempt: replace(policy, delta=policy.delta / 2 ** (attempt + 1)), None
    if not isinstance(policy, Calibrated):
        return lambda _: policy, None
    exclude = [ids for query in range(queries) if (ids := options.exclude.of(query)) is not None]
    excluded = max((len(set(ids)) for ids in exclude), default=0)
    calibration = check_calibrated(snapshot.calibration)
    there, length = snapshot.n_searchable, snapshot.mean_length
    if there <= k:
        return lambda _: CalibratedDepth(max(1, there), length), Promise("none", calibration.origin, snapshot.changes)
    if not calibration.enough_for(policy.target):
        there = len(calibration.ranks)
        raise ValueError(
            f"an overlap of {policy.overlap} needs {queries_needed(policy.target)} calibration queries; "
            f"this index was calibrated with {there}, which is enough for {most_overlap(there):g}"
        )
    if k > calibration.k:
        wrong = ValueError(f"k is {k}, but this index was calibrated for k up to {calibration.k}")
        raise hinted(wrong, ": {}", Function("calibrate", (Argument("k", k),)))
    wider = min(k + excluded, calibration.k)
    target = 1 - (1 - policy.target) * Fraction(k, k + excluded)
    kept = k + excluded <= calibration.k and calibration.enough_for(target)
    depth = calibration.depth(wider, target if kept else policy.target)
    if there > calibration.documents:
        depth = ceil(depth * Fraction(there, calibration.documents))
    promised = (
        kept
        and not options.candidates.given
        and not options.where.given
        and calibration.holds_after(snapshot.changes)
        and calibration.grouped == (group_by is not None)
        and all(are_whole_groups(snapshot, ids, group_by) for ids in exclude)
    )
    promise = Promise("calibrated" if promised else "none", calibration.origin, snapshot.changes)
    return lambda attempt: CalibratedDepth(min(max(depth, k) * GROWTH**attempt, MOST), length), promise

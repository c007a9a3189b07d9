"""Making codebooks and calibrations of an index, and how far `Calibrated` follows its list by tier 0."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.grouping import GROWTH, GroupBy, are_whole_groups, count_groups, search_groups
from maxsieve.hits import Promise
from maxsieve.ids import Id
from maxsieve.policies import MANY, Bandit, Calibrated, Policy, to_native
from maxsieve.storage.calibration import NO_CHANGES, Calibration, Origin, queries_needed
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.snapshot import Snapshot

TOGETHER = 32
"""Queries that are searched for at a time."""


def with_codebook(state: Snapshot, threads: int) -> Snapshot:
    """The state with a new codebook and all tokens named by it; what was calibrated before is void."""
    if not state.lengths[state.alive].sum():
        raise ValueError("there is no token to learn a codebook from: add documents first")
    book = Codebook.train(state.dim, state.segments, threads)
    segments = [book.name_tokens(segment, threads) for segment in state.segments]
    return replace(state, segments=segments, codebook=book, calibration=None, changes=NO_CHANGES)


def with_calibration(
    state: Snapshot,
    queries: Sequence[NDArray[np.float32]],
    k: int,
    origin: Origin,
    threads: int,
    group_by: GroupBy | None,
    advance: Callable[[int], None],
) -> Snapshot:
    """The state, which has a codebook, calibrated on queries for a top k of groups; each document may be one.

    The best hit of an own sentence is the group it was taken from, which no tier misses. It counts for nothing: the
    k after it do, in the list without its best document. (Others of its documents may stay in the list: then a place is
    further down than it would be without them, which promises no more than is true.)
    """
    own = int(origin == "own sentences")
    there = count_groups(state, group_by)
    if not there:
        raise ValueError("there is no document to find: add some before calibrating")
    if there == own:
        raise ValueError("own sentences need two documents at least: the one they come from does not count")
    wanted, k = k, min(k, there - own)
    ranks = np.empty((len(queries), k + own), np.int64)
    for first in range(0, len(queries), TOGETHER):
        some = list(queries[first : first + TOGETHER])
        everything = [state.searchable] * len(some)
        answers = search_groups(state, some, everything, k + own, lambda _: _core.Certified(), threads, group_by)
        for i, (query, answer) in enumerate(zip(some, answers, strict=True), first):
            best = np.array(answer.positions, np.int64)
            ascending = np.argsort(best)
            ranks[i, ascending] = state.ranks(query, best[ascending], threads)
        advance(len(some))
    if own:
        ranks = ranks[:, 1:] - (ranks[:, 1:] > ranks[:, :1])
    lengths = np.array([len(query) for query in queries], np.int64)
    rows, now = np.concatenate(list(queries)), int(time.time())
    made = Calibration(ranks, rows, lengths, len(state.searchable), now, origin, wanted, group_by is not None)
    return replace(state, calibration=made, changes=NO_CHANGES)


def recalibrated(state: Snapshot, threads: int, group_by: GroupBy | None, advance: Callable[[int], None]) -> Snapshot:
    """The state, calibrated again with the queries it kept."""
    old = _calibration_of(state)
    return with_calibration(state, old.queries, old.wanted, old.origin, threads, group_by, advance)


def retrained(state: Snapshot, threads: int, group_by: GroupBy | None, advance: Callable[[int], None]) -> Snapshot:
    """The state with a new codebook; if it was calibrated, it is again, with the queries it kept."""
    coded, old = with_codebook(state, threads), state.calibration
    return coded if old is None else recalibrated(replace(coded, calibration=old), threads, group_by, advance)


def _calibration_of(state: Snapshot) -> Calibration:
    if state.calibration is None:
        raise ValueError("this index is not calibrated: call index.calibrate(queries) first")
    return state.calibration


def plan(
    policy: Policy,
    state: Snapshot,
    k: int,
    restrictions: Sequence[Any],
    exclude: Sequence[list[Id] | None],
    group_by: GroupBy | None,
) -> tuple[Callable[[int], _core.Policy], Promise | None]:
    """The engine's policy for each attempt at queries with such exclusions, and what it promises.

    ``restrictions`` are candidates and filters, of which any that is not None leaves nothing to promise.

    With documents that must not be hits, the top k of the others lies in the top k + excluded of all: docs/theory.md,
    section 10, has the stricter target that this needs. The most that any query excludes counts. A group of which some
    documents are excluded and some are not is another than the one that was calibrated on.

    A further attempt of `Bandit` has half the delta of the one before, so that all of them have no more than one has.
    One of `Calibrated` follows up more documents, which can only find more.
    """
    if type(policy) is Bandit and group_by is not None:
        return lambda attempt: to_native(replace(policy, delta=policy.delta / 2 ** (attempt + 1))), None
    if type(policy) is not Calibrated:
        native = to_native(policy)
        return lambda _: native, None
    restricted = any(one is not None for one in restrictions)
    excluded = max((len(set(one)) for one in exclude if one is not None), default=0)
    calibration = _calibration_of(state)
    there = len(state.searchable)
    if there <= k:
        return lambda _: _core.Calibrated(max(1, there)), Promise("none", calibration.origin, state.changes)
    if not calibration.enough_for(policy.target):
        raise ValueError(
            f"an overlap of {policy.overlap} needs {queries_needed(policy.target)} calibration queries; "
            f"this index was calibrated with {len(calibration.ranks)}"
        )
    if k > calibration.k:
        raise ValueError(f"k is {k}, but this index was calibrated for k up to {calibration.k}: calibrate(..., k={k})")
    wider = min(k + excluded, calibration.k)
    target = 1 - (1 - policy.target) * Fraction(k, k + excluded)
    kept = k + excluded <= calibration.k and calibration.enough_for(target)
    depth = calibration.depth(wider, target if kept else policy.target)
    if there > calibration.documents:
        depth = ceil(depth * Fraction(there, calibration.documents))
    promised = (
        kept
        and not restricted
        and calibration.holds_after(state.changes)
        and calibration.grouped == (group_by is not None)
        and all(are_whole_groups(state, one, group_by) for one in exclude if one)
    )
    promise = Promise("calibrated" if promised else "none", calibration.origin, state.changes)
    return lambda attempt: _core.Calibrated(min(max(depth, k) * GROWTH**attempt, MANY)), promise

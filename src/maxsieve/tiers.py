"""Makes codebooks and calibrations of an index, and decides how many documents `Calibrated` follows up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import Argument, Function, hinted
from maxsieve.groups import GROWTH, GroupBy, count_groups, search_groups
from maxsieve.hits import Promise
from maxsieve.ids import Id
from maxsieve.policies import MOST, Bandit, Calibrated, CalibratedDepth, FixedPolicy, Policy
from maxsieve.storage.calibration import NO_CHANGES, Calibration, Changes, Origin, queries_needed
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.snapshot import Snapshot

BATCH = 32
"""How many queries are searched at a time."""


def with_codebook(state: Snapshot, threads: int) -> Snapshot:
    """The state with a new codebook and the centroids of all tokens; an existing calibration is dropped."""
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
    """The state (with a codebook) calibrated on queries, for a top k of groups. Without grouping, a document is one."""

    def places(some: Sequence[NDArray[np.float32]], deep: int) -> Iterator[NDArray[np.int64]]:
        everything = [state.searchable] * len(some)
        answers = search_groups(state, some, everything, deep, lambda _: _core.Certified(), threads, group_by)
        for query, answer in zip(some, answers, strict=True):
            best = np.array(answer.positions, np.int64)
            ascending = np.argsort(best)
            ranks = np.empty_like(best)
            ranks[ascending] = state.ranks(query, best[ascending], threads)
            yield ranks

    there = count_groups(state, group_by)
    grouped = group_by is not None
    made = find_places(places, queries, k, origin, len(state.searchable), there, grouped=grouped, advance=advance)
    return replace(state, calibration=made, changes=NO_CHANGES)


def find_places(
    places: Callable[[Sequence[NDArray[np.float32]], int], Iterable[NDArray[np.int64]]],
    queries: Sequence[NDArray[np.float32]],
    k: int,
    origin: Origin,
    documents: int,
    groups: int,
    *,
    grouped: bool,
    advance: Callable[[int], None],
) -> Calibration:
    """A calibration on queries for a top k of groups; ``documents`` and ``groups`` are how many there are.

    ``places`` returns, for a batch of queries, the ranks by tier 0, from 1, of the best documents of that many groups.

    The best hit of an own sentence is the group it was taken from, which no tier misses. So it does not count: the next
    k hits do, ranked in the list without that group's best document. (Other documents of the group may stay in the
    list. They can only increase a rank, so the calibration stays valid.)
    """
    own = int(origin == "own sentences")
    if not groups:
        raise ValueError("there are no documents to find: add some before calibrating")
    if groups == own:
        raise ValueError("own sentences need at least two documents: the one they come from does not count")
    wanted, k = k, min(k, groups - own)
    ranks = np.empty((len(queries), k + own), np.int64)
    for first in range(0, len(queries), BATCH):
        some = list(queries[first : first + BATCH])
        for i, found in enumerate(places(some, k + own), first):
            ranks[i] = found
        advance(len(some))
    return to_calibration(ranks, queries, documents, origin, wanted, grouped=grouped)


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


def recalibrated(state: Snapshot, threads: int, group_by: GroupBy | None, advance: Callable[[int], None]) -> Snapshot:
    """The state, calibrated again with the stored queries."""
    old = _calibration_of(state)
    return with_calibration(state, old.queries, old.wanted, old.origin, threads, group_by, advance)


def retrained(state: Snapshot, threads: int, group_by: GroupBy | None, advance: Callable[[int], None]) -> Snapshot:
    """The state with a new codebook, and calibrated again with the stored queries if it was calibrated."""
    coded, old = with_codebook(state, threads), state.calibration
    return coded if old is None else recalibrated(replace(coded, calibration=old), threads, group_by, advance)


def _calibration_of(state: Snapshot | Calibrating) -> Calibration:
    if state.calibration is None:
        raise not_calibrated()
    return state.calibration


def not_calibrated() -> ValueError:
    """The error of a search or a calibration that needs an earlier calibration."""
    wrong = ValueError("this index is not calibrated")
    return hinted(wrong, ": {} does that", Function("calibrate", (Argument("queries"),)))


class Calibrating(NamedTuple):
    """What `Calibrated` must know of an index: what has changed since, how many documents can be hits, their length.

    ``are_whole`` says whether of each group that has one of some documents, all that can be a hit are among them.
    """

    calibration: Calibration | None
    changes: Changes
    documents: int
    mean_length: float
    are_whole: Callable[[list[Id]], bool]


def plan(
    policy: Policy,
    index: Calibrating,
    k: int,
    restrictions: Sequence[Any],
    exclude: Sequence[list[Id] | None],
    *,
    grouped: bool,
) -> tuple[Callable[[int], FixedPolicy], Promise | None]:
    """The policy for each attempt, and the guarantee of the answer.

    ``restrictions`` are candidates and filters: if any of them is not None, `Calibrated` guarantees nothing.

    If documents are excluded, the top k of the others is in the top k + excluded of all: docs/theory.md, section 10,
    has the stricter target that this needs. The largest number that any query excludes counts. If only some documents
    of a group are excluded, the group is not the one that was calibrated on, and nothing is guaranteed.

    Each further attempt of `Bandit` has half the delta of the one before, so that all attempts together stay within
    delta. A further attempt of `Calibrated` follows up more documents, which can only find more.
    """
    if type(policy) is Bandit and grouped:
        return lambda attempt: replace(policy, delta=policy.delta / 2 ** (attempt + 1)), None
    if not isinstance(policy, Calibrated):
        return lambda _: policy, None
    restricted = any(one is not None for one in restrictions)
    excluded = max((len(set(one)) for one in exclude if one is not None), default=0)
    calibration = _calibration_of(index)
    there, length = index.documents, index.mean_length
    if there <= k:
        return lambda _: CalibratedDepth(max(1, there), length), Promise("none", calibration.origin, index.changes)
    if not calibration.enough_for(policy.target):
        raise ValueError(
            f"an overlap of {policy.overlap} needs {queries_needed(policy.target)} calibration queries; "
            f"this index was calibrated with {len(calibration.ranks)}"
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
        and not restricted
        and calibration.holds_after(index.changes)
        and calibration.grouped == grouped
        and all(index.are_whole(one) for one in exclude if one)
    )
    promise = Promise("calibrated" if promised else "none", calibration.origin, index.changes)
    return lambda attempt: CalibratedDepth(min(max(depth, k) * GROWTH**attempt, MOST), length), promise

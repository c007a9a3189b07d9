"""Search by group: only the best document of each group is a hit, for documents that are passages of larger texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot

GroupBy: TypeAlias = Callable[[Id], Hashable]
"""From the id of a document to its group."""

FIRST, GROWTH = 2, 4
"""The first attempt searches for FIRST documents per requested group; if they have too few groups, the next attempt
searches for GROWTH times as many. Searching for twice as many takes hardly longer; a second search doubles the time."""


class Groups(NamedTuple):
    """An answer of the engine, and the index in it of each group's best document, best group first.

    ``places`` is None if each document is its own group.
    """

    answer: _core.Answer
    places: list[int] | None

    @property
    def positions(self) -> list[int]:
        """The positions of those documents."""
        positions = self.answer.positions
        return positions if self.places is None else [positions[place] for place in self.places]


class Ranked(NamedTuple):
    """The best documents that one attempt found, best first, and how many there were to find them among."""

    ids: list[Id]
    documents: int


Attempt: TypeAlias = Callable[[Sequence[int], int, int], Iterable[Ranked]]
"""Searches for some of the queries, by their numbers, for so many documents each, at so many attempts before."""


def search_groups(
    state: Snapshot,
    queries: Sequence[NDArray[np.float32]],
    candidates: Sequence[NDArray[np.int64]],
    k: int,
    policy: Callable[[int], _core.Policy],
    threads: int,
    group_by: GroupBy | None,
    *,
    trace: bool = False,
) -> list[Groups]:
    """The k best groups for each query, by their best documents; without ``group_by`` each document is a group.

    ``policy`` returns the policy of each attempt, counted from 0. Only a single query may have a ``trace``.
    """
    if group_by is None:
        answers = _core.search(state.corpus, list(queries), list(candidates), k, policy(0), threads, trace)
        return [Groups(answer, None) for answer in answers]
    found: dict[int, _core.Answer] = {}

    def attempt(which: Sequence[int], deep: int, before: int) -> Iterator[Ranked]:
        most = max(len(candidates[i]) for i in which)
        some, among = [queries[i] for i in which], [candidates[i] for i in which]
        answers = _core.search(state.corpus, some, among, min(deep, max(k, most)), policy(before), threads, trace)
        for i, answer in zip(which, answers, strict=True):
            found[i] = answer
            yield Ranked(state.ids_at(answer.positions), len(candidates[i]))

    places = places_of_groups(attempt, len(queries), k, group_by)
    return [Groups(found[i], places[i]) for i in range(len(queries))]


def places_of_groups(attempt: Attempt, queries: int, k: int, group_by: GroupBy) -> list[list[int]]:
    """The places of the best documents of the k best groups in the last attempt at each query, best group first.

    The best documents are searched for, more of them at each attempt, until k groups are among them: then no other
    group can have a better document than those have.

    >>> places_of_groups(lambda which, deep, _: [Ranked(["a1", "a2", "b1"][:deep], 3)], 1, 2, lambda one: one[0])
    [[0, 2]]
    """
    places: dict[int, list[int]] = {}
    missing, before = list(range(queries)), 0
    while missing:
        some = list(zip(missing, attempt(missing, k * FIRST * GROWTH**before, before), strict=True))
        places |= {i: _first_of_each(ranked.ids, k, group_by) for i, ranked in some}
        missing = [i for i, ranked in some if len(places[i]) < k and len(ranked.ids) < ranked.documents]
        before += 1
    return [places[i] for i in range(queries)]


def count_groups(state: Snapshot, group_by: GroupBy | None) -> int:
    """The number of groups with documents that can be hits."""
    return len(state.searchable) if group_by is None else len(_sizes(state, group_by))


def are_whole_groups(state: Snapshot, ids: Iterable[Id], group_by: GroupBy | None) -> bool:
    """Whether these documents are whole groups: with a document, all documents of its group that can be hits."""
    if group_by is None:
        return True
    named, sizes = Counter(map(group_by, set(ids))), _sizes(state, group_by)
    return all(count >= sizes[group] for group, count in named.items())


_SIZES: WeakKeyDictionary[Snapshot, dict[GroupBy, Counter[Hashable]]] = WeakKeyDictionary()


def _sizes(state: Snapshot, group_by: GroupBy) -> Counter[Hashable]:
    """How many documents of each group can be hits. Cached for each state, because it reads all ids."""
    known = _SIZES.setdefault(state, {})
    if group_by not in known:
        known[group_by] = Counter(map(group_by, state.ids_at(state.searchable.tolist())))
    return known[group_by]


def _first_of_each(ids: list[Id], k: int, group_by: GroupBy) -> list[int]:
    """The index of the first member of each group, for at most k groups.

    >>> _first_of_each(["a1", "b1", "a2", "c1"], 2, lambda one: one[0])
    [0, 1]
    """
    first: dict[Hashable, int] = {}
    for place, one in enumerate(ids):
        first.setdefault(group_by(one), place)
    return list(first.values())[:k]

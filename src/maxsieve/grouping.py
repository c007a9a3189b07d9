"""Answers by group: the best document of each, for an index whose documents are passages of something larger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot

GroupBy: TypeAlias = Callable[[Id], Hashable]
"""From the id of a document to what it is a part of."""

FIRST, GROWTH = 2, 4
"""Documents that are searched for at first, for each group that is wanted, and how many times as many if too few groups
are among them. A search for twice as many takes hardly longer, a second search as long again."""


class Groups(NamedTuple):
    """An answer of the engine, and where in it the best document of each group stands, best group first.

    ``places`` is None where each document is a group of its own.
    """

    answer: _core.Answer
    places: list[int] | None

    @property
    def positions(self) -> list[int]:
        """Of those documents."""
        positions = self.answer.positions
        return positions if self.places is None else [positions[place] for place in self.places]


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
    """The k best groups for each query, by their best documents; without ``group_by`` each document is one.

    The best documents are searched for, more of them at each attempt, until k groups are among them: then no other
    group can have a better document than those have. ``policy`` is asked for the policy of each attempt, from 0. One
    query alone may have a ``trace``.
    """
    if group_by is None:
        answers = _core.search(state.corpus, list(queries), list(candidates), k, policy(0), threads, trace)
        return [Groups(answer, None) for answer in answers]
    found: dict[int, Groups] = {}
    missing, attempt = list(range(len(queries))), 0
    while missing:
        deep = k * FIRST * GROWTH**attempt
        answers = _core.search(
            state.corpus,
            [queries[i] for i in missing],
            [candidates[i] for i in missing],
            min(deep, max(k, *(len(candidates[i]) for i in missing))),
            policy(attempt),
            threads,
            trace,
        )
        for i, answer in zip(missing, answers, strict=True):
            found[i] = Groups(answer, _first_of_each(state.ids_at(answer.positions), k, group_by))
        missing = [
            i for i in missing if len(found[i].positions) < k and len(found[i].answer.positions) < len(candidates[i])
        ]
        attempt += 1
    return [found[i] for i in range(len(queries))]


def count_groups(state: Snapshot, group_by: GroupBy | None) -> int:
    """How many groups there are of documents that can be a hit."""
    return len(state.searchable) if group_by is None else len(_sizes(state, group_by))


def are_whole_groups(state: Snapshot, ids: Iterable[Id], group_by: GroupBy | None) -> bool:
    """Whether of each group that has one of these documents, all that can be a hit are among them."""
    if group_by is None:
        return True
    named, sizes = Counter(map(group_by, set(ids))), _sizes(state, group_by)
    return all(count >= sizes[group] for group, count in named.items())


_SIZES: WeakKeyDictionary[Snapshot, dict[GroupBy, Counter[Hashable]]] = WeakKeyDictionary()


def _sizes(state: Snapshot, group_by: GroupBy) -> Counter[Hashable]:
    """How many documents of each group can be a hit: counted once for a state, since that takes all its ids."""
    known = _SIZES.setdefault(state, {})
    if group_by not in known:
        known[group_by] = Counter(map(group_by, state.ids_at(state.searchable.tolist())))
    return known[group_by]


def _first_of_each(ids: list[Id], k: int, group_by: GroupBy) -> list[int]:
    """Where the first member of each group stands, of k groups at most.

    >>> _first_of_each(["a1", "b1", "a2", "c1"], 2, lambda one: one[0])
    [0, 1]
    """
    first: dict[Hashable, int] = {}
    for place, one in enumerate(ids):
        first.setdefault(group_by(one), place)
    return list(first.values())[:k]

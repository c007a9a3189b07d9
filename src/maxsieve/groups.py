"""Search by group: only the best document of each group is a hit, for documents that are passages of larger texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary

from maxsieve.hits import Ranking
from maxsieve.ids import Id
from maxsieve.policies import FixedPolicy
from maxsieve.searcher import PreparedSearch
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot

GroupBy: TypeAlias = Callable[[Id], Hashable]
"""From the id of a document to its group."""

FIRST, GROWTH = 2, 4
"""The first attempt searches for FIRST documents per requested group; if they have too few groups, the next attempt
searches for GROWTH times as many. Searching for twice as many takes hardly longer; a second search doubles the time."""


def best_groups(
    search: PreparedSearch, queries: int, k: int, policy: Callable[[int], FixedPolicy], group_by: GroupBy | None
) -> list[tuple[Ranking, list[int] | None]]:
    """The k best groups for each query: a ranking of documents, and the entries that are the best of their groups.

    Without ``group_by`` each document is a group, and all entries are meant: None. ``policy`` returns the policy of
    each attempt, counted from 0.

    The best documents are searched for, more of them at each attempt, until k groups are among them: then no other
    group can have a better document than those have.
    """
    if group_by is None:
        return [(ranking, None) for ranking in search.best(range(queries), k, policy(0))]
    found: dict[int, tuple[Ranking, list[int] | None]] = {}
    missing: Sequence[int] = range(queries)
    attempt = 0
    while missing:
        deep = k * FIRST * GROWTH**attempt
        again = []
        for query, ranking in zip(missing, search.best(missing, deep, policy(attempt)), strict=True):
            entries = first_of_each(ranking.ids, k, group_by)
            found[query] = ranking, entries
            if len(entries) < k and len(ranking.ids) < ranking.n_searched:
                again.append(query)
        missing, attempt = again, attempt + 1
    return [found[query] for query in range(queries)]


def first_of_each(ids: list[Id], k: int, group_by: GroupBy) -> list[int]:
    """The index of the first member of each group, for at most k groups.

    >>> first_of_each(["a1", "b1", "a2", "c1"], 2, lambda id: id[0])
    [0, 1]
    """
    first: dict[Hashable, int] = {}
    for entry, id in enumerate(ids):
        first.setdefault(group_by(id), entry)
    return list(first.values())[:k]


def count_groups(snapshot: AnySnapshot, group_by: GroupBy | None) -> int:
    """The number of groups with documents that can be hits."""
    return snapshot.n_searchable if group_by is None else len(_sizes(snapshot.here, group_by))


def are_whole_groups(snapshot: AnySnapshot, ids: Iterable[Id], group_by: GroupBy | None) -> bool:
    """Whether these documents are whole groups: with a document, all documents of its group that can be hits."""
    if group_by is None:
        return True
    named, sizes = Counter(map(group_by, set(ids))), _sizes(snapshot.here, group_by)
    return all(count >= sizes[group] for group, count in named.items())


_SIZES: WeakKeyDictionary[Snapshot, dict[GroupBy, Counter[Hashable]]] = WeakKeyDictionary()


def _sizes(snapshot: Snapshot, group_by: GroupBy) -> Counter[Hashable]:
    """How many documents of each group can be hits. Cached for each version, because it reads all ids."""
    known = _SIZES.setdefault(snapshot, {})
    if group_by not in known:
        known[group_by] = Counter(map(group_by, snapshot.ids_at(snapshot.searchable.tolist())))
    return known[group_by]

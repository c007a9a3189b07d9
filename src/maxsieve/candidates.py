"""Which documents a query may find: ``candidates=``, ``exclude=`` and ``where=`` become positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import is_array, plain
from maxsieve.ids import Id, positions_of, to_ids
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Storage
from maxsieve.where import Where

T = TypeVar("T")
Candidates: TypeAlias = list[Id] | NDArray[np.bool_] | None


def read_candidates(entries: list[Any]) -> list[Candidates]:
    """The candidates of each query, as ids, a mask, or None for all. Generators are read here, so hold no lock."""
    return _each_once(_read_candidates, entries)


def read_exclude(entries: list[Any]) -> list[list[Id] | None]:
    """The excluded ids of each query. Generators are read here, so hold no lock."""
    return _each_once(lambda entry: None if entry is None else to_ids(entry, "exclude"), entries)


def choose(
    storage: Storage, candidates: list[Candidates], exclude: list[list[Id] | None], where: Sequence[Where | None]
) -> tuple[Snapshot, list[NDArray[np.int64]]]:
    """The snapshot, and the positions for each query; queries with the same sets share an array."""
    choices = [(id(wanted), id(unwanted)) for wanted, unwanted in zip(candidates, exclude, strict=True)]
    chosen: dict[tuple[int, int], NDArray[np.int64]] = {}
    with storage.guard:
        state = storage.snapshot
        for choice, wanted, unwanted in zip(choices, candidates, exclude, strict=True):
            if choice not in chosen:
                views = state.searchable, state.live, state.lengths
                chosen[choice] = select(*views, storage.positions, wanted, unwanted)
    found: dict[tuple[tuple[int, int], str], NDArray[np.int64]] = {}
    keys = [(choice, "" if one is None else one.key) for choice, one in zip(choices, where, strict=True)]
    for key, one in zip(keys, where, strict=True):  # outside of the guard, because a filter may take a while
        if key not in found:
            positions = chosen[key[0]]
            found[key] = positions if one is None else positions[state.matching(one)[positions]]
    return state, [found[key] for key in keys]


def select(
    searchable: NDArray[np.int64],
    live: NDArray[np.int64],
    lengths: NDArray[np.int64],
    positions: Callable[[int], Mapping[Id, int]],
    candidates: Candidates,
    exclude: list[Id] | None,
) -> NDArray[np.int64]:
    """Positions of the non-empty documents to search, ascending. ``positions(n)`` is a table for looking up n ids."""
    chosen = searchable
    if candidates is not None:
        if isinstance(candidates, list):
            chosen = positions_of(candidates, positions(len(candidates)), "candidates")
        elif candidates.shape != live.shape:
            raise ValueError(f"candidates is a mask of shape {candidates.shape} for {len(live)} documents")
        else:
            chosen = live[candidates]
        chosen = chosen[lengths[chosen] > 0]
    if exclude is not None:
        unwanted = positions_of(exclude, positions(len(exclude)), "exclude")
        chosen = np.setdiff1d(chosen, unwanted, assume_unique=True)
    return chosen


def per_query(ids: Any, queries: int, what: str) -> list[Any]:
    """One entry per query: from one set for all, or from a list with one entry (ids or None) per query.

    A list whose elements are not ids, or an array of two dimensions, has one entry per query.

    >>> per_query([1, 2], 2, "candidates")
    [[1, 2], [1, 2]]
    >>> per_query([[1], None], 2, "candidates")
    [[1], None]
    """
    if is_array(ids):
        ids = list(array) if (array := plain(ids, what)).ndim == 2 else array
    elif isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)):
        ids = list(ids)
    entry_each = isinstance(ids, (list, tuple)) and any(
        one is None or (isinstance(one, Iterable) and not isinstance(one, (str, bytes))) for one in ids
    )
    if not entry_each:
        return [ids] * queries
    if len(ids) != queries:
        raise ValueError(f"{what} has {len(ids)} entries for {queries} queries")
    return list(ids)


def _each_once(read: Callable[[Any], T], entries: list[Any]) -> list[T]:
    """Reads every entry. The same object is read once: a set for all queries may be large, or a generator."""
    known: dict[int, T] = {}
    for entry in entries:
        if id(entry) not in known:
            known[id(entry)] = read(entry)
    return [known[id(entry)] for entry in entries]


def _read_candidates(candidates: Any) -> Candidates:
    if candidates is None:
        return None
    if is_array(candidates):
        candidates = plain(candidates, "candidates")
        return candidates.copy() if candidates.dtype == np.bool_ else to_ids(candidates, "candidates")
    listed = candidates if isinstance(candidates, (list, tuple)) else ()
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return np.array(listed, np.bool_)
    return to_ids(candidates, "candidates")

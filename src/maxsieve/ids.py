"""Document ids: all str or all int, unique, stored as given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Id: TypeAlias = str | int

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def to_ids(ids: Any, what: str) -> list[Id]:
    """A list of ids: NumPy integers become int, ``np.str_`` becomes str; bool and everything else is refused.

    >>> to_ids(np.array([3, 1]), "ids")
    [3, 1]
    """
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        raise TypeError(f"{what} must be a list of ids, not {ids!r}")
    checked = list(listed)
    kinds = set(map(type, checked))
    plain = kinds == {str} or (kinds == {int} and min(checked) >= SMALLEST and max(checked) <= LARGEST)
    if not plain:
        checked = [to_id(id, what) for id in checked]
    if len(set(map(type, checked))) > 1:
        raise TypeError(f"{what} must be all str or all int, not a mixture")
    return checked


def to_id(id: Any, what: str) -> Id:
    """One id, as str or int."""
    if isinstance(id, str):
        return str.__str__(id)  # str() would give the name of an enum's member
    if isinstance(id, (int, np.integer)) and not isinstance(id, bool):
        if not SMALLEST <= int(id) <= LARGEST:
            raise ValueError(f"{what}: {id} does not fit into 64 bits")
        return int(id)
    raise TypeError(f"{what}: an id must be a str or an int, not {id!r}")


def find_duplicate(ids: list[Id]) -> Id | None:
    """The first id that occurs a second time."""
    if len(set(ids)) == len(ids):
        return None
    seen: set[Id] = set()
    for id in ids:
        if id in seen:
            return id
        seen.add(id)
    return None


def positions_of(ids: list[Id], positions: Mapping[Id, int], what: str) -> NDArray[np.int64]:
    """The positions of ids, ascending, without repeats; `KeyError` for an unknown id."""
    try:
        found = np.fromiter(map(positions.__getitem__, ids), np.int64, len(ids))
    except KeyError as unknown:
        raise KeyError(f"{what}: no document has the id {unknown.args[0]!r}") from None
    found.sort()
    return found[np.diff(found, prepend=-1) > 0]

"""Which documents a query may find: ``candidates=`` and ``exclude=`` become positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.ids import Id, positions_of, to_ids


def select(
    searchable: NDArray[np.int64],
    live: NDArray[np.int64],
    lengths: NDArray[np.int64],
    positions: Mapping[Id, int],
    candidates: Any,
    exclude: Any,
) -> NDArray[np.int64]:
    """Positions of the non-empty documents to be searched, ascending."""
    chosen = searchable
    if candidates is not None:
        mask = _as_mask(candidates)
        if mask is None:
            chosen = positions_of(to_ids(candidates, "candidates"), positions, "candidates")
        elif mask.shape != live.shape:
            raise ValueError(f"candidates is a mask of shape {mask.shape} for {len(live)} documents")
        else:
            chosen = live[mask]
        chosen = chosen[lengths[chosen] > 0]
    if exclude is not None:
        unwanted = positions_of(to_ids(exclude, "exclude"), positions, "exclude")
        chosen = np.setdiff1d(chosen, unwanted, assume_unique=True)
    return chosen


def per_query(ids: Any, queries: int, what: str) -> list[Any]:
    """One entry for each query: from one set for all, or from a list with an entry (ids or None) for each.

    A list is taken for the latter when its elements are not ids themselves.

    >>> per_query([1, 2], 2, "candidates")
    [[1, 2], [1, 2]]
    >>> per_query([[1], None], 2, "candidates")
    [[1], None]
    """
    if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes, np.ndarray, list, tuple)):
        ids = list(ids)
    entry_each = isinstance(ids, (list, tuple)) and any(
        one is None or (isinstance(one, Iterable) and not isinstance(one, str)) for one in ids
    )
    if not entry_each:
        return [ids] * queries
    if len(ids) != queries:
        raise ValueError(f"{what} has {len(ids)} entries for {queries} queries")
    return list(ids)


def _as_mask(candidates: Any) -> NDArray[np.bool_] | None:
    if not isinstance(candidates, np.ndarray) and hasattr(candidates, "__array__"):
        candidates = np.asarray(candidates)
    if isinstance(candidates, np.ndarray):
        return candidates if candidates.dtype == np.bool_ else None
    if isinstance(candidates, (list, tuple)) and candidates and all(isinstance(one, (bool, np.bool_)) for one in candidates):
        return np.array(candidates, np.bool_)
    return None

"""The names of the arrays of rows, lengths and ids in a file of several arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from maxsieve.exchange.vectors import TokenVectors

Names: TypeAlias = tuple[str, str | None, str | None]

ROWS = ("rows", "doc_tokens", "embeddings", "vectors")
LENGTHS = ("lengths", "doclens", "doc_lengths")
IDS = ("ids", "doc_ids")


def choose(found: Collection[str], names: Names | None) -> Names:
    """The names of rows, lengths and ids among the arrays of a file; None for an array that is missing.

    >>> choose(["doc_ids", "doc_tokens", "query"], None)
    ('doc_tokens', None, 'doc_ids')
    """
    if names is not None:
        for name in names:
            if name is not None and name not in found:
                raise ValueError(f"there is no array {name!r}, only {_listed(found)}")
        return names
    rows = _first(ROWS, found)
    if rows is None:
        raise ValueError(f"there is no array called {' or '.join(ROWS)}, only {_listed(found)}: give names=")
    return rows, _first(LENGTHS, found), _first(IDS, found)


def named_vectors(
    found: Collection[str], names: Names | None, lengths: Any, ids: Any, load: Callable[[str], Any]
) -> TokenVectors:
    """The token vectors of a file of several arrays; its lengths and ids are loaded unless they are given."""
    rows, lengths_name, ids_name = choose(found, names)
    if lengths is None:
        if lengths_name is None:
            raise ValueError(f"there is no array called {' or '.join(LENGTHS)}, only {_listed(found)}: give lengths=")
        lengths = load(lengths_name)
    if ids is None and ids_name is not None:
        ids = load(ids_name)
    return TokenVectors(load(rows), lengths, ids)


def _first(wanted: Collection[str], found: Collection[str]) -> str | None:
    return next((name for name in wanted if name in found), None)


def _listed(found: Collection[str]) -> str:
    return ", ".join(map(repr, sorted(found))) or "none"

"""Under which names rows, lengths and ids go in a file of several arrays."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

Names: TypeAlias = tuple[str, str | None, str | None]

ROWS = ("rows", "doc_tokens", "embeddings", "vectors")
LENGTHS = ("lengths", "doclens", "doc_lengths")
IDS = ("ids", "doc_ids")


def choose(there: Collection[str], names: Names | None) -> Names:
    """The names of rows, lengths and ids (None for what is not there) among those of a file.

    >>> choose(["doc_ids", "doc_tokens", "query"], None)
    ('doc_tokens', None, 'doc_ids')
    """
    if names is not None:
        for name in names:
            if name is not None and name not in there:
                raise ValueError(f"there is no array {name!r}, only {_listed(there)}")
        return names
    rows = _first(ROWS, there)
    if rows is None:
        raise ValueError(f"there is no array called {' or '.join(ROWS)}, only {_listed(there)}: give names=")
    return rows, _first(LENGTHS, there), _first(IDS, there)


def no_lengths(there: Collection[str]) -> ValueError:
    """The error for a file that does not say how long its documents are."""
    return ValueError(f"there is no array called {' or '.join(LENGTHS)}, only {_listed(there)}: give lengths=")


def _first(wanted: Collection[str], there: Collection[str]) -> str | None:
    return next((name for name in wanted if name in there), None)


def _listed(there: Collection[str]) -> str:
    return ", ".join(map(repr, sorted(there))) or "none at all"

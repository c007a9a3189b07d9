"""Reads the JSON of a request in limited time and memory, however large and strange it is.

As an object of Python, a value takes up to a hundred times the space of its JSON. So values are counted before they are
made. Only the rows of ``vectors`` may have more numbers: each row is read by itself, and becomes an array.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from fastapi import HTTPException
from numpy.typing import NDArray
from pydantic_core import from_json

from maxsieve.service.settings import DIMENSIONS, QUERY_TOKENS, VALUES

VECTORS = "vectors"

_SPACE = rb"[ \t\r\n]*"
_ARRAY = re.compile(_SPACE + b":" + _SPACE + rb"(\[.*\])", re.DOTALL)
_ROW = re.compile(_SPACE + rb"(\[[^][]*\])" + _SPACE + rb"(,|\Z)")

Rows = tuple[NDArray[np.float32], ...]


def read_json(body: bytes) -> Any:
    """The value of a body. If its ``vectors`` have very many numbers, they are a tuple of arrays.

    >>> read_json(b'{"query": "river", "k": 3}')
    {'query': 'river', 'k': 3}
    """
    pieces = _pieces(body)
    few_strings = len(pieces) <= VALUES
    found = _find_vectors(pieces) if few_strings and _count(pieces) > VALUES else None
    if found is not None:
        body = body[: found.start] + b"null" + body[found.end :]
        pieces = _pieces(body)
    if _count(pieces) > VALUES:
        raise HTTPException(413, f"the body has more than {VALUES:,} values, not counting the numbers of vectors")
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as wrong:
        raise HTTPException(400, f"the body is not valid JSON: {wrong}"[:300]) from None
    return value if found is None else {**value, VECTORS: found.rows}


def _pieces(body: bytes) -> list[bytes]:
    """The body split at its quotes: every second piece is a string. Beyond the limit it is not split further."""
    return body.replace(b"\\\\", b"__").replace(b'\\"', b"__").split(b'"', 4 * VALUES + 4)


def _count(pieces: list[bytes]) -> int:
    """At least the number of values, if it is valid JSON: two strings in a field, and a comma or bracket before it."""
    outside = b"".join(pieces[::2])
    return max(len(pieces) // 4, sum(map(outside.count, (b",", b"[", b"{"))))


class _Found(NamedTuple):
    """Where the array of the field ``vectors`` is in the body, and what it says."""

    start: int
    end: int
    rows: Rows


def _find_vectors(pieces: list[bytes]) -> _Found | None:
    """The last field ``vectors`` of the outermost object, if it has rows of numbers and nothing else."""
    depth = at = 0
    place: tuple[int, re.Match[bytes]] | None = None
    for i in range(0, len(pieces) - 2, 2):
        outside, name = pieces[i : i + 2]
        depth += sum(map(outside.count, (b"[", b"{"))) - sum(map(outside.count, (b"]", b"}")))
        at += len(outside) + len(name) + 2
        if depth == 1 and name == VECTORS.encode() and (array := _ARRAY.match(pieces[i + 2])):
            place = at, array
    if place is None or (rows := _read_rows(place[1][1])) is None:
        return None
    return _Found(place[0] + place[1].start(1), place[0] + place[1].end(1), rows)


def _read_rows(array: bytes) -> Rows | None:
    """The rows of an array of arrays of numbers; None if it is anything else, or too large."""
    inside, at = array[1:-1], 0
    rows: list[NDArray[np.float32]] = []
    while len(rows) < QUERY_TOKENS and (row := _ROW.match(inside, at)):
        if row[1].count(b",") >= DIMENSIONS:
            return None
        try:
            numbers = from_json(row[1], allow_inf_nan=False)
            if not numbers or not set(map(type, numbers)) <= {int, float}:
                return None
            with np.errstate(over="ignore"):
                rows.append(np.array(numbers, np.float32))
        except (ValueError, OverflowError):
            return None
        at = row.end()
        if not row[2]:
            return tuple(rows)
    return None

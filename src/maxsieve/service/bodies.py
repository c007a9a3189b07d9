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

BLOCK = 1 << 18
"""Bytes that are counted at a time."""

_SPACE = rb"[ \t\r\n]*"
_ARRAY = re.compile(_SPACE + b":" + _SPACE + rb"(\[.*\])", re.DOTALL)
_ROW = re.compile(_SPACE + rb"(\[[^][]*\])" + _SPACE + rb"(,|\Z)")

Rows = tuple[NDArray[np.float32], ...]


def read_json(body: bytes, dim: int | None = None) -> Any:
    """The value of a body. If its ``vectors`` have very many numbers, they are a tuple of arrays of this ``dim``.

    >>> read_json(b'{"query": "river", "k": 3}')
    {'query': 'river', 'k': 3}
    """
    # at least so many quotes begin or end a string; two strings are in a field
    if _has_more(body, b'"', 4 * VALUES, besides=b"\\"):
        raise _too_many()
    pieces = _pieces(body)
    found = None
    if _too_many_values(pieces):
        few_strings = len(pieces) <= VALUES
        found = _find_vectors(pieces, dim) if few_strings else None
        if found is None:
            raise _too_many()
        body = body[: found.start] + b"null" + body[found.end :]
        if _too_many_values(_pieces(body)):
            raise _too_many()
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as wrong:
        raise HTTPException(400, f"the body is not valid JSON: {wrong}"[:300]) from None
    return value if found is None else {**value, VECTORS: found.rows}


def _too_many() -> HTTPException:
    return HTTPException(413, f"the body has more than {VALUES:,} values, not counting the numbers of vectors")


def _pieces(body: bytes) -> list[bytes]:
    """The body split at its quotes: every second piece is a string. Beyond the limit it is not split further."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    return body.split(b'"', 4 * VALUES + 4)


def _too_many_values(pieces: list[bytes]) -> bool:
    """Whether valid JSON would have too many values: two strings in a field, and a comma or bracket before it."""
    return len(pieces) // 4 > VALUES or _has_more(b"".join(pieces[::2]), b",[{", VALUES)


def _has_more(text: bytes, characters: bytes, most: int, besides: bytes = b"") -> bool:
    """Whether a text has more than so many of these characters, not counting one for each of ``besides``.

    It stops as soon as it knows. NumPy counts, which is quick, and lets other threads run.
    """
    found = 0
    for start in range(0, len(text), BLOCK):
        block = np.frombuffer(text, np.uint8, min(BLOCK, len(text) - start), start)
        found += sum(np.count_nonzero(block == one) for one in characters)
        found -= sum(np.count_nonzero(block == one) for one in besides)
        if found > most:
            return True
    return False


class _Found(NamedTuple):
    """Where the array of the field ``vectors`` is in the body, and what it says."""

    start: int
    end: int
    rows: Rows


def _find_vectors(pieces: list[bytes], dim: int | None) -> _Found | None:
    """The last field ``vectors`` of the outermost object, if it has rows of numbers and nothing else."""
    depth = at = 0
    place: tuple[int, re.Match[bytes]] | None = None
    for i in range(0, len(pieces) - 2, 2):
        outside, name = pieces[i : i + 2]
        depth += sum(map(outside.count, (b"[", b"{"))) - sum(map(outside.count, (b"]", b"}")))
        at += len(outside) + len(name) + 2
        if depth == 1 and name == VECTORS.encode() and (array := _ARRAY.match(pieces[i + 2])):
            place = at, array
    if place is None or (rows := _read_rows(place[1][1], dim)) is None:
        return None
    return _Found(place[0] + place[1].start(1), place[0] + place[1].end(1), rows)


def _read_rows(array: bytes, dim: int | None) -> Rows | None:
    """The rows of an array of arrays of numbers; None if it is anything else, or too large."""
    inside, at = array[1:-1], 0
    rows: list[NDArray[np.float32]] = []
    while len(rows) < QUERY_TOKENS and (row := _ROW.match(inside, at)):
        count = row[1].count(b",") + 1
        if count > DIMENSIONS or not row[1][1:-1].strip():
            return None
        if dim is not None and count != dim:
            raise HTTPException(400, wrong_dim(dim, count))
        try:
            numbers = from_json(row[1], allow_inf_nan=False)
            if not set(map(type, numbers)) <= {int, float}:
                return None
            with np.errstate(over="ignore"):
                rows.append(np.array(numbers, np.float32))
        except (ValueError, OverflowError):
            return None
        at = row.end()
        if not row[2]:
            return tuple(rows)
    return None


def wrong_dim(dim: int, numbers: int) -> str:
    """Says that vectors don't have the dimension of the collection."""
    return f"vectors: dim is {dim} here, and the rows have {numbers}"

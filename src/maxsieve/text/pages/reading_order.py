"""The order in which the lines of a page are read: one column after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from maxsieve.text.pages.places import Box, around

T = TypeVar("T")

GUTTER = 0.012
"""The least width of the white space between two columns, as a share of the page's width."""

COLUMN_LINES = 3
"""A column has at least this many lines: fewer beside each other are the cells of a row."""

WIDE = 0.6
"""A line that takes more than this share of the text's width may cross a gutter: it is a title, or the last line."""


def in_reading_order(lines: Iterable[tuple[Box, T]]) -> list[T]:
    """Lines from top to bottom; where white space divides them into columns, one column after the other.

    A line that crosses the white space, such as a title, ends the columns above it.

    >>> left = [(Box(0.1, y / 10, 0.45, (y + 0.5) / 10), f"left {y}") for y in range(1, 4)]
    >>> right = [(Box(0.55, y / 10, 0.9, (y + 0.5) / 10), f"right {y}") for y in range(1, 4)]
    >>> in_reading_order([(Box(0.1, 0, 0.9, 0.05), "title"), *left, *right])
    ['title', 'left 1', 'left 2', 'left 3', 'right 1', 'right 2', 'right 3']
    """
    return [line for _, line in _ordered(list(lines))]


def _ordered(lines: list[tuple[Box, T]]) -> list[tuple[Box, T]]:
    gutter = _gutter(lines)
    if gutter is None:
        return [line for band in _bands(lines) for line in sorted(band, key=lambda line: line[0].left)]
    found: list[tuple[Box, T]] = []
    left: list[tuple[Box, T]] = []
    right: list[tuple[Box, T]] = []
    for line in sorted(lines, key=lambda line: line[0].top):
        if line[0].right <= gutter:
            left.append(line)
        elif line[0].left >= gutter:
            right.append(line)
        else:
            found += [*_ordered(left), *_ordered(right), line]
            left, right = [], []
    return [*found, *_ordered(left), *_ordered(right)]


def _gutter(lines: Sequence[tuple[Box, T]]) -> float | None:
    """The middle of the widest white space between two columns of running text."""
    if len(lines) < 2 * COLUMN_LINES:
        return None
    whole = around(box for box, _ in lines)
    narrow = sorted(box for box, _ in lines if box.right - box.left <= WIDE * (whole.right - whole.left))
    widest, place, end = GUTTER, None, None
    for number, box in enumerate(narrow):
        if end is not None and box.left - end > widest and _are_columns(narrow[:number], narrow[number:]):
            widest, place = box.left - end, (box.left + end) / 2
        end = box.right if end is None else max(end, box.right)
    return place


def _are_columns(left: Sequence[Box], right: Sequence[Box]) -> bool:
    """Whether both are columns of running text, and not labels beside values."""
    if min(len(left), len(right)) < COLUMN_LINES:
        return False
    sides = [around(side) for side in (left, right)]
    narrow, wide = sorted(side.right - side.left for side in sides)
    return narrow > wide / 3


def _bands(lines: Sequence[tuple[Box, T]]) -> list[list[tuple[Box, T]]]:
    """Groups of lines that are beside each other, from top to bottom."""
    bands: list[list[tuple[Box, T]]] = []
    middle = -1.0
    for line in sorted(lines, key=lambda line: line[0].top + line[0].bottom):
        box = line[0]
        if bands and box.top < middle:
            bands[-1].append(line)
        else:
            bands.append([line])
            middle = (box.top + box.bottom) / 2
    return bands

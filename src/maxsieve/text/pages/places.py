"""Places on a page: boxes, words with their boxes, and grids of patches.

A box is in fractions of the page's width and height, so it fits a picture of any size. Files have whole numbers, which
count ten-thousandths: that is a twentieth of a millimetre on a sheet of paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNITS = 10_000
"""How many units of a stored box make the width or the height of a page."""

MOST_CELLS = 1 << 16
"""Limit on the rows and columns of a grid."""


class Box(NamedTuple):
    """A rectangle on a page: (0, 0) is the top left corner of the page and (1, 1) its bottom right corner.

    >>> Box(0.25, 0.5, 0.75, 1.0).pixels(200, 100)
    (50, 50, 150, 100)
    """

    left: float
    top: float
    right: float
    bottom: float

    def pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """The box in pixels of a picture of this size."""
        return (round(self.left * width), round(self.top * height), round(self.right * width),
                round(self.bottom * height))  # fmt: skip

    def overlap(self, other: Box) -> float:
        """Intersection over union: 1 for equal boxes, 0 for boxes that do not meet.

        >>> Box(0, 0, 1, 1).overlap(Box(0, 0, 0.5, 1))
        0.5
        """
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        common = max(width, 0.0) * max(height, 0.0)
        union = self._area + other._area - common
        return common / union if union else 0.0

    @property
    def _area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


WHOLE = Box(0.0, 0.0, 1.0, 1.0)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box around some boxes, of which there is at least one.

    >>> around([Box(0, 0, 0.5, 0.5), Box(0.25, 0.25, 1, 0.75)])
    Box(left=0, top=0, right=1, bottom=0.75)
    """
    left, top, right, bottom = zip(*boxes, strict=True)
    return Box(min(left), min(top), max(right), max(bottom))


class Word(NamedTuple):
    """A word of a page's text, ``text[start:end]``, and where it is."""

    start: int
    end: int
    box: Box


class Grid(NamedTuple):
    """Token vectors that belong to the patches of a page, row by row.

    ``first`` is the number of the first of them, and ``box`` the part of the page that the grid covers. A model that
    looks at a page in tiles has a grid for each tile, and one for the whole page.

    >>> Grid(rows=2, columns=4).cell(5)
    Box(left=0.25, top=0.5, right=0.5, bottom=1.0)
    """

    rows: int
    columns: int
    first: int = 0
    box: Box = WHOLE

    @property
    def cells(self) -> int:
        """How many vectors it has."""
        return self.rows * self.columns

    def cell(self, token: int) -> Box | None:
        """The patch that a token vector belongs to; None if it belongs to no patch of this grid."""
        place = token - self.first
        if not 0 <= place < self.cells:
            return None
        row, column = divmod(place, self.columns)
        width = (self.box.right - self.box.left) / self.columns
        height = (self.box.bottom - self.box.top) / self.rows
        left, top = self.box.left + column * width, self.box.top + row * height
        return Box(left, top, left + width, top + height)

    def map(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """The similarities [tokens of the document] of its patches, as an array [rows, columns]."""
        return similarities[self.first : self.first + self.cells].reshape(self.rows, self.columns)


def cell_of(grids: Sequence[Grid], token: int) -> Box | None:
    """The patch that a token vector belongs to, by the first grid that has it."""
    return next((box for grid in grids if (box := grid.cell(token)) is not None), None)


def words_within(words: Sequence[Word], start: int, end: int) -> list[Word]:
    """The words that have characters between ``start`` and ``end``."""
    return [word for word in words if word.start < end and start < word.end]


def to_units(box: Box) -> list[int]:
    """A box as it is stored; what is outside of the page is cut off.

    >>> to_units(Box(-0.1, 0.25, 0.5, 2))
    [0, 2500, 5000, 10000]
    """
    return [min(max(round(UNITS * side), 0), UNITS) for side in box]


def from_units(sides: Any) -> Box:
    """A stored box; `ValueError` for what is none."""
    match sides:
        case [int(left), int(top), int(right), int(bottom)] if (
            0 <= left <= right <= UNITS and 0 <= top <= bottom <= UNITS
        ):
            return Box(left / UNITS, top / UNITS, right / UNITS, bottom / UNITS)
    raise ValueError(f"{sides!r:.80} is not a box on a page")


def to_grid(given: Any) -> Grid:
    """A grid from ``(rows, columns)``, or a `Grid`.

    >>> to_grid((32, 32))
    Grid(rows=32, columns=32, first=0, box=Box(left=0.0, top=0.0, right=1.0, bottom=1.0))
    """
    if isinstance(given, Grid):
        return given
    try:
        rows, columns = (int(size) for size in given)
    except (TypeError, ValueError):
        raise ValueError(f"grid must be (rows, columns), not {given!r}") from None
    if not (1 <= rows <= MOST_CELLS and 1 <= columns <= MOST_CELLS):
        raise ValueError(f"grid must have at least one row and one column, not {given!r}")
    return Grid(rows, columns)

"""Draws on the picture of a page why it was found: boxes around words, or a smooth map over patches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import to_numpy
from maxsieve.common.optional import optional
from maxsieve.text.pages.places import Box, Grid, to_grid

F32 = NDArray[np.float32]

COLOUR = (255, 106, 0)
"""Orange: it is seen on white paper and on dark slides, also by people who can't tell red from green."""

STRONGEST = 0.62
"""How much of the picture the hottest place of a map hides."""

CONTRAST = 1.6
"""Similarities of patches are close to each other: this power of them keeps the page readable where it is cold."""


def heat_map(
    picture: Any, query: Any, page: Any, grid: Any, *, tokens: Sequence[int] | None = None
) -> Any:  # PIL.Image.Image
    """A picture of a page with a map of its patches that are similar to a query.

    picture
        an image of Pillow: the page.
    query, page
        token vectors [T, d] and [L, d], as `Index.search` takes and `Index.vectors` returns them.
    grid
        ``(rows, columns)`` of the patches, which are the first rows of ``page``; or a `Grid`, or several of them.
    tokens
        the numbers of the query tokens to draw; all by default.

    >>> import numpy as np
    >>> from PIL import Image
    >>> vectors = np.eye(8)  # a page of 2 x 4 patches
    >>> drawn = heat_map(Image.new("RGB", (40, 20), "white"), vectors[5:6], vectors, grid=(2, 4))
    >>> drawn.getpixel((15, 15)), drawn.getpixel((35, 5))
    ((255, 163, 97), (255, 255, 255))
    """
    asked, rows = (_rows(given, what) for given, what in ((query, "query"), (page, "page")))
    grids = [grid] if isinstance(grid, Grid) or not _are_grids(grid) else list(grid)
    similarities = asked @ rows.T
    if tokens is not None:
        similarities = similarities[list(tokens)]
    return draw_patches(picture, similarities, [to_grid(one) for one in grids])


def draw_patches(picture: Any, similarities: F32, grids: Sequence[Grid]) -> Any:
    """The picture, and over it the mean of maps: of each query token its similarities to the patches."""
    if not len(similarities):
        return picture.convert("RGB")
    heat = np.zeros((picture.height, picture.width), np.float32)
    last = max((grid.first + grid.cells for grid in grids), default=0)
    if last > similarities.shape[1]:
        raise ValueError(f"the grid has {last} patches, but the page has {similarities.shape[1]} vectors")
    scaled = _scaled(similarities, grids)
    for grid in grids:
        left, top, right, bottom = grid.box.pixels(picture.width, picture.height)
        if right > left and bottom > top:
            layer = heat[top:bottom, left:right]
            np.maximum(layer, _smooth(grid.map(scaled), right - left, bottom - top), out=layer)
    return _overlay(picture, np.float32(STRONGEST) * heat)


def draw_boxes(picture: Any, boxes: Iterable[tuple[Box, float]]) -> Any:
    """The picture with boxes, each as opaque as its strength between 0 and 1; where boxes meet, the stronger counts."""
    draw = optional("PIL.ImageDraw", "pages")
    heat = np.zeros((picture.height, picture.width), np.float32)
    outlines = []
    for box, strength in boxes:
        left, top, right, bottom = box.pixels(picture.width, picture.height)
        layer = heat[top : bottom + 1, left : right + 1]
        np.maximum(layer, np.float32(0.15 + 0.4 * min(max(strength, 0.0), 1.0)), out=layer)
        outlines.append((left, top, right, bottom))
    drawn = _overlay(picture, heat)
    pen = draw.Draw(drawn)
    width = max(1, round(max(picture.size) / 800))
    for outline in outlines:
        pen.rectangle(outline, outline=COLOUR, width=width)
    return drawn


def relative(similarities: F32, grids: Sequence[Grid]) -> F32:
    """For each query token, its similarities from 0 (the lowest of a patch) to 1 (the highest)."""
    patches = similarities[:, cells_of(grids)]
    low, high = patches.min(axis=1, keepdims=True), patches.max(axis=1, keepdims=True)
    return np.asarray((similarities - low) / np.where(high > low, high - low, np.float32(1)), np.float32)


def cells_of(grids: Sequence[Grid]) -> NDArray[np.int64]:
    """The numbers of the token vectors that are patches, grid by grid."""
    return np.concatenate([np.arange(grid.first, grid.first + grid.cells) for grid in grids])


def _scaled(similarities: F32, grids: Sequence[Grid]) -> F32:
    """The mean over query tokens of their relative similarities, so that its highest is 1, with more contrast."""
    mean = relative(similarities, grids).mean(axis=0)
    highest = mean[cells_of(grids)].max()
    return np.asarray(np.clip(mean / highest if highest > 0 else mean, 0, 1) ** CONTRAST, np.float32)


def _smooth(values: F32, width: int, height: int) -> F32:
    image = optional("PIL.Image", "pages")
    small = image.fromarray(np.ascontiguousarray(values, np.float32))
    smooth = np.asarray(small.resize((width, height), image.Resampling.BICUBIC), np.float32)
    return np.clip(smooth, np.float32(0), np.float32(1))


def _overlay(picture: Any, alpha: F32) -> Any:
    image = optional("PIL.Image", "pages")
    below = np.asarray(picture.convert("RGB"), np.float32)
    share = alpha[:, :, None]
    return image.fromarray(np.asarray(np.rint(below * (1 - share) + np.asarray(COLOUR, np.float32) * share), np.uint8))


def _rows(given: Any, what: str) -> F32:
    rows = np.asarray(to_numpy(given, what), np.float32)
    if rows.ndim != 2:
        raise ValueError(f"{what} has shape {rows.shape}; [tokens, dimensions] is expected")
    return rows


def _are_grids(given: Any) -> bool:
    return isinstance(given, Sequence) and bool(given) and all(isinstance(one, Grid) for one in given)

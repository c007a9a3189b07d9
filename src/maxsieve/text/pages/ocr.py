"""The words of a scan, by rapidocr, which is an extra, in the order of reading. Runs in the isolated process.

rapidocr would download a model that it does not find. Here it is given the paths of the models in its own package, so
it opens no connection: if one is missing, that is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maxsieve.common.optional import optional
from maxsieve.text.pages.places import Box, Word, around
from maxsieve.text.pages.rendering import TextLayer

MODELS = {"Det": "*_det_*.onnx", "Cls": "*_cls_*.onnx", "Rec": "*_rec_*.onnx"}
"""The models of rapidocr: they find lines, tell which way up a line is, and read it."""

Line = list[tuple[str, Box]]
"""The words of a line, with their boxes."""


def read_words(image: Any) -> TextLayer:
    """The text of an RGB image of Pillow: a line for each line, in reading order."""
    answer = _read(_engine(), np.asarray(image)[:, :, ::-1])
    found = list(_lines(answer, image.width, image.height))
    text, words = "", list[Word]()
    for line in in_reading_order((around(box for _, box in line), line) for line in found):
        text += "\n" if text else ""
        for place, (word, box) in enumerate(line):
            text += " " if place else ""
            words.append(Word(len(text), len(text) + len(word), box))
            text += word
    return TextLayer(text, tuple(words))


def _read(engine: Any, pixels: Any) -> Any:
    """What rapidocr finds. Its own errors are whole tracebacks: their cause has what onnxruntime said."""
    try:
        return engine(pixels)
    except MemoryError:
        raise
    except Exception as failed:
        said = str(failed.__cause__ or failed)
        if "alloc" in said:  # std::bad_alloc of onnxruntime, "Failed to allocate" of OpenCV
            raise MemoryError(said) from None
        raise ValueError(f"OCR failed: {said}") from None


def is_installed() -> bool:
    """Whether the packages for OCR are there."""
    return all(find_spec(name) is not None for name in ("rapidocr", "pypdfium2", "PIL", "onnxruntime"))


def decide_ocr(asked: bool | None, *, visual: bool) -> bool:
    """Whether pages without text are read by OCR: by default if it is installed, and no visual model sees the page."""
    if asked:
        for name in ("rapidocr", "pypdfium2"):
            optional(name, "pages")
    return (is_installed() and not visual) if asked is None else asked


@cache
def _engine() -> Any:
    optional("onnxruntime", "pages")  # first: without its telemetry
    library = optional("rapidocr", "pages")
    folder = Path(library.__file__).parent / "models"
    paths = {}
    for part, pattern in MODELS.items():
        models = sorted(folder.glob(pattern))
        if not models:
            raise ModuleNotFoundError(f"this needs rapidocr with its models: {folder} has no {pattern}")
        paths[f"{part}.model_path"] = str(models[0])
    return library.RapidOCR(params={"Global.log_level": "critical", "Global.return_word_box": True, **paths})


def _lines(answer: Any, width: int, height: int) -> Iterator[Line]:
    if answer.txts is None:
        return
    for text, pieces in zip(answer.txts, answer.word_results, strict=True):
        boxes = [(piece, _box(corners, width, height)) for piece, _, corners in pieces]
        if line := list(_words(text, boxes)):
            yield line


def _words(text: str, pieces: Line) -> Iterator[tuple[str, Box]]:
    """The words of a line between spaces. rapidocr gives words, or single letters if not all are Latin."""
    place = 0
    for word in text.split():
        left, inside = len(word), list[Box]()
        while left > 0 and place < len(pieces):
            piece, box = pieces[place]
            left -= len(piece.replace(" ", ""))
            inside.append(box)
            place += 1
        if inside:
            yield word, around(inside)


def _box(corners: Any, width: int, height: int) -> Box:
    across, down = zip(*corners, strict=True)
    return Box(min(across) / width, min(down) / height, max(across) / width, max(down) / height)


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

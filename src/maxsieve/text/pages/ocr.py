"""The words of a scan, by rapidocr, which is an extra. Runs in the isolated process.

rapidocr would download a model that it does not find. Here it is given the paths of the models in its own package, so
it opens no connection: if one is missing, that is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from maxsieve.common.optional import optional
from maxsieve.text.pages.places import Box, Word, around
from maxsieve.text.pages.reading_order import in_reading_order
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

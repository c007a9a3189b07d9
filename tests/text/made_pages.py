"""Pages, scans and visual encoders, made here."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import Grid
from maxsieve.text.pages.rendering import TextLayer, opened, to_page
from text.made_files import make_pdf

F32 = NDArray[np.float32]


def page_of(text: str) -> PageDocument:
    """The first page of a PDF with this text."""
    with opened(io.BytesIO(make_pdf([text])), ".pdf") as source:
        return to_page(source.render(0), source.text(0))


def scan_of(text: str, path: Path) -> Path:
    """A picture with this text, and nothing else: a scan."""
    image = Image.new("L", (1000, 120 + 50 * text.count("\n")), "white")
    ImageDraw.Draw(image).multiline_text((40, 30), text, fill="black", font_size=32, spacing=16)
    image.save(path)
    return path


COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}


class BrightEncoder:
    """A visual encoder: each cell of a grid of 4 x 3 has its colour, and a query is the name of a colour."""

    name, dim, fingerprint = "bright", 3, {"model": "bright"}
    ROWS, COLUMNS = 4, 3

    def encode_documents(self, pages: Sequence[PageDocument], *, progress: bool = False) -> list[F32]:
        images = [page.image().resize((self.COLUMNS, self.ROWS), Image.Resampling.BOX) for page in pages]
        return [np.asarray(image, np.float32).reshape(-1, 3) / 255 for image in images]

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        return [np.array([COLOURS.get(word, (0, 0, 0)) for word in text.split()], np.float32) for text in texts]

    def grids(self, page: PageDocument) -> tuple[Grid, ...]:
        return (Grid(self.ROWS, self.COLUMNS),)

    def query_spans(self, text: str) -> list[tuple[int, int]]:
        starts = [text.index(word) for word in text.split()]
        return [(start, start + len(word)) for start, word in zip(starts, text.split(), strict=True)]


def coloured_page(colour: str, row: int, column: int, size: tuple[int, int] = (300, 400)) -> PageDocument:
    """A black page with one patch of a colour."""
    image = Image.new("RGB", size)
    width, height = size[0] // BrightEncoder.COLUMNS, size[1] // BrightEncoder.ROWS
    image.paste(colour, (column * width, row * height, (column + 1) * width, (row + 1) * height))
    return to_page(image, TextLayer("", ()))

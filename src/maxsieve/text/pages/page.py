"""One page as a document: its picture, its text, and where its words are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.text.pages.places import Grid, Word, from_units, to_units

KIND = "image/webp"
_ID = re.compile(r"(?P<file>.*)#page=(?P<number>[1-9][0-9]{0,6})\Z", re.DOTALL)
_DIGEST = re.compile("[0-9a-f]{64}")
MOST_PIXELS = 1 << 24
"""Limit on the pixels of a stored picture: those of maxsieve have a quarter of it."""


@dataclass(frozen=True)
class PageDocument:
    """A page: its picture as WebP, the picture's size in pixels, its text, and the words of the text with their boxes.

    ``read_pages`` reads those of a file. The text is empty if the page has none, or if nobody read it.
    """

    picture: bytes
    width: int
    height: int
    text: str = ""
    words: tuple[Word, ...] = ()
    by_ocr: bool = False
    """Whether the text was read by OCR."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the picture, which names its file in a collection."""
        return hashlib.sha256(self.picture).hexdigest()

    def image(self) -> Any:
        """The picture as an RGB image of Pillow."""
        return open_picture(self.picture)

    def facts(self, grids: tuple[Grid, ...] = ()) -> PageFacts:
        """What a collection records of it, besides its text; ``grids`` if its vectors are those of patches."""
        return PageFacts(self.digest, self.width, self.height, self.words, grids)


@dataclass(frozen=True)
class PageFacts:
    """What a record says about a page: the digest and the size of its picture, its words, and its grids of patches."""

    digest: str
    width: int
    height: int
    words: tuple[Word, ...] = ()
    grids: tuple[Grid, ...] = ()

    def part(self, start: int, end: int) -> PageFacts:
        """The facts of a passage of the page's text: it has the words that begin in it, counted from its start."""
        inside = (word for word in self.words if start <= word.start < end)
        return replace(self, words=tuple(Word(word.start - start, word.end - start, word.box) for word in inside))

    def to_plain(self) -> dict[str, Any]:
        """As JSON-compatible data."""
        plain: dict[str, Any] = {"picture": self.digest, "size": [self.width, self.height]}
        if self.words:
            plain["words"] = [[word.start, word.end, *to_units(word.box)] for word in self.words]
        if self.grids:
            plain["grids"] = [[grid.rows, grid.columns, grid.first, *to_units(grid.box)] for grid in self.grids]
        return plain


def facts_of(plain: Any) -> PageFacts:
    """The facts from JSON-compatible data, checked: `ValueError` for anything that maxsieve does not write."""
    match plain:
        case {"picture": str(digest), "size": [int(width), int(height)]} if (
            _DIGEST.fullmatch(digest) and width > 0 and height > 0 and width * height <= MOST_PIXELS
        ):
            words = tuple(_word(word) for word in _listed(plain.get("words")))
            grids = tuple(_grid(grid) for grid in _listed(plain.get("grids")))
            return PageFacts(digest, width, height, words, grids)
    raise ValueError("it does not name a picture and its size")


def page_id(file: str, number: int) -> str:
    """The id of a page of a file that may have several.

    >>> page_id("slides/deck.pdf", 3)
    'slides/deck.pdf#page=3'
    """
    return f"{file}#page={number}"


def file_of(id: str) -> str:
    """The path of the file that a page's id names.

    >>> file_of("slides/deck.pdf#page=3"), file_of("photo.png")
    ('slides/deck.pdf', 'photo.png')
    """
    found = _ID.fullmatch(id)
    return found["file"] if found else id


def open_picture(content: bytes) -> Any:
    """A stored picture as an RGB image of Pillow; `ValueError` if it is none."""
    image = optional("PIL.Image", "pages")
    try:
        with image.open(BytesIO(content), formats=["WEBP"]) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise ValueError(f"it has {picture.width} x {picture.height} pixels")
            return picture.convert("RGB")
    except (OSError, SyntaxError) as problem:
        raise ValueError(f"it is not a WebP picture: {problem}") from None


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise ValueError("its words or grids are not a list")
    return given


def _word(given: Any) -> Word:
    match given:
        case [int(start), int(end), *sides] if 0 <= start <= end:
            return Word(start, end, from_units(sides))
    raise ValueError(f"{given!r:.80} is not a word on a page")


def _grid(given: Any) -> Grid:
    match given:
        case [int(rows), int(columns), int(first), *sides] if rows > 0 and columns > 0 and first >= 0:
            return Grid(rows, columns, first, from_units(sides))
    raise ValueError(f"{given!r:.80} is not a grid of patches")

"""Renders the pages of PDFs and pictures: by pypdfium2 and Pillow, which are an extra. Runs in the isolated process.

A page may be hostile: a small file may decompress to gigabytes, or a page may claim to be a kilometre wide. So a page
is rendered at most at a fixed number of pixels, a picture is refused by its header before it is decoded, and the
process has limits on memory and time for what remains.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple, Protocol

from maxsieve.common.optional import optional
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import UNITS, Box, Word, around

PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".tif": "TIFF", ".tiff": "TIFF",
            ".bmp": "BMP"}  # fmt: skip
"""Suffixes of pictures, and the name of the format in Pillow."""

SUFFIXES = (".pdf", *PICTURES)
DPI = 150
RENDERED_SIDE = 2000
"""The longest side of a page when it is rendered, in pixels: 150 dots per inch for paper up to 13 inches."""

KEPT_SIDE = 1600
"""The longest side of the picture that is kept."""

QUALITY = 80
MOST_PIXELS = 100_000_000
"""Limit on the pixels of a picture file: a sheet of A4 at 1,000 dots per inch."""

MOST_PAGES = 100_000
LARGEST_FILE = 1 << 28
HYPHENS = {"\r": "", "\x02": "-", "\ufffe": "-"}
"""Marks of pdfium: the last two are hyphens at the end of a line."""

MOST_CHARACTERS = 1 << 20
"""Limit on the characters of a page."""


class TextLayer(NamedTuple):
    """The text of a page, and its words with their boxes."""

    text: str
    words: tuple[Word, ...]


class Source(Protocol):
    """An open file with pages, numbered from 0."""

    def __len__(self) -> int:
        """How many pages it has."""

    def render(self, number: int) -> Any:
        """A page as an RGB image of Pillow."""

    def text(self, number: int) -> TextLayer:
        """The text that the file has for a page; a picture has none."""


@contextmanager
def opened(file: BinaryIO, suffix: str) -> Iterator[Source]:
    """The pages of a file; `ValueError` if it can't be read."""
    if file.seek(0, io.SEEK_END) > LARGEST_FILE:
        raise ValueError(f"it is larger than {LARGEST_FILE} bytes, the limit")
    file.seek(0)
    with _pdf(file) if suffix == ".pdf" else _picture(file, PICTURES[suffix]) as source:
        if not 1 <= len(source) <= MOST_PAGES:
            raise ValueError(f"it has {len(source):,} pages; 1 to {MOST_PAGES:,} are read")
        yield source


def to_page(image: Any, layer: TextLayer, *, by_ocr: bool = False) -> PageDocument:
    """The page, with a picture of limited size."""
    image = image.copy()
    image.thumbnail((KEPT_SIDE, KEPT_SIDE))
    content = io.BytesIO()
    image.save(content, "WEBP", quality=QUALITY, method=4)
    return PageDocument(content.getvalue(), image.width, image.height, layer.text, layer.words, by_ocr)


@contextmanager
def _pdf(file: BinaryIO) -> Iterator[_Pdf]:
    pdfium = optional("pypdfium2", "pages")
    try:
        document = pdfium.PdfDocument(file)
    except pdfium.PdfiumError as problem:
        if "password" in str(problem).lower():
            raise ValueError("it is encrypted; save a copy without a password first") from None
        raise
    with closing(document):
        with suppress(pdfium.PdfiumError):  # so that filled-in forms are drawn
            document.init_forms()
        yield _Pdf(document)


class _Pdf:
    def __init__(self, document: Any) -> None:
        self._document = document
        self._raw = optional("pypdfium2.raw", "pages")

    def __len__(self) -> int:
        return len(self._document)

    def render(self, number: int) -> Any:
        with closing(self._document[number]) as page:
            width, height = page.get_size()
            longest = max(width, height)
            if not longest > 0:
                raise ValueError(f"page {number + 1} has no size")
            scale = min(DPI / 72, RENDERED_SIDE / longest)
            with closing(page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)) as bitmap:
                return bitmap.to_pil().convert("RGB").copy()

    def text(self, number: int) -> TextLayer:
        with closing(self._document[number]) as page, closing(page.get_textpage()) as layer:
            count = min(layer.count_chars(), MOST_CHARACTERS)
            return to_layer(self._characters(page, layer, count))

    def _characters(self, page: Any, layer: Any, count: int) -> Iterator[tuple[str, Box | None]]:
        box = self._raw.FS_RECTF()
        for i in range(count):
            code = self._raw.FPDFText_GetUnicode(layer, i)
            letter = chr(code) if code <= 0x10FFFF else "\ufffd"
            known = self._raw.FPDFText_GetLooseCharBox(layer, i, box)  # as high as the font, as a selection shows it
            x0, y0 = self._on_page(page, box.left, box.top)
            x1, y1 = self._on_page(page, box.right, box.bottom)
            yield letter, Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)) if known else None

    def _on_page(self, page: Any, x: float, y: float) -> tuple[float, float]:
        """A point of the PDF as fractions of the page as it is shown: it may be rotated, and cropped."""
        across, down = ctypes.c_int(), ctypes.c_int()
        self._raw.FPDF_PageToDevice(page, 0, 0, UNITS, UNITS, 0, x, y, across, down)
        return across.value / UNITS, down.value / UNITS


def to_layer(letters: Iterator[tuple[str, Box | None]]) -> TextLayer:
    r"""The text of letters, and its words. Letters that no text should have become spaces.

    >>> box = Box(0, 0, 1, 1)
    >>> to_layer(iter([("a", box), ("\0", None), ("b", box)])).text
    'a b'
    """
    text: list[str] = []
    words: list[Word] = []
    boxes: list[Box] = []

    def end_word() -> None:
        if boxes:
            words.append(Word(start, len(text), around(boxes)))
            boxes.clear()

    start = 0
    for letter, box in letters:
        shown = HYPHENS.get(letter, letter)
        if not shown:
            continue
        if shown != "\n" and (not shown.isprintable() or shown.isspace()):
            shown = " "
        if shown.isspace():
            end_word()
        elif not boxes:
            start = len(text)
        if box is not None and not shown.isspace():
            boxes.append(box)
        text.append(shown)
    end_word()
    return TextLayer("".join(text), tuple(words))


@contextmanager
def _picture(file: BinaryIO, kind: str) -> Iterator[_Picture]:
    image = optional("PIL.Image", "pages")
    image.MAX_IMAGE_PIXELS = None  # its warning is replaced by the limit below
    with image.open(file, formats=[kind]) as picture:
        yield _Picture(picture)


class _Picture:
    def __init__(self, picture: Any) -> None:
        self._picture = picture

    def __len__(self) -> int:
        return int(getattr(self._picture, "n_frames", 1)) if self._picture.format == "TIFF" else 1

    def render(self, number: int) -> Any:
        """Decodes the picture; a JPEG at a smaller scale, if that is enough."""
        operations = optional("PIL.ImageOps", "pages")
        if self._picture.format == "TIFF":
            self._picture.seek(number)
        width, height = self._picture.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"it has {width:,} x {height:,} pixels; at most {MOST_PIXELS:,} are decoded")
        self._picture.draft("RGB", (RENDERED_SIDE, RENDERED_SIDE))
        return on_white(operations.exif_transpose(self._picture))

    def text(self, number: int) -> TextLayer:
        return TextLayer("", ())


def on_white(picture: Any) -> Any:
    """An RGB image of limited size; what is transparent becomes white."""
    image = optional("PIL.Image", "pages")
    if picture.mode.startswith("I"):  # 16 bits: Pillow would cut them off at 255
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    picture.thumbnail((RENDERED_SIDE, RENDERED_SIDE))
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        layered = picture.convert("RGBA")
        white = image.new("RGBA", layered.size, "white")
        return image.alpha_composite(white, layered).convert("RGB")
    return picture.convert("RGB")

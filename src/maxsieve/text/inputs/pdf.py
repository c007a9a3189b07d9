"""The text of a PDF, through pypdf, which is an extra: its pages, with a form feed between them, and its headings."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, BinaryIO

from maxsieve.common.optional import optional
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.outline import MOST_HEADINGS
from maxsieve.text.inputs.pdf_headings import Page, PdfPiece, Target, by_outline, by_size

PAGE_END = "\f"
LARGEST_PDF = 1 << 28
"""Limit on the bytes of a PDF, including its pictures."""

_NO_TITLE = re.compile(
    r"untitled.*|microsoft word - .*|.*\.(docx?|tex|dvi|indd|pptx?|xlsx?|odt|rtf|pdf)", re.IGNORECASE
)
"""Titles that programs fill in themselves, such as the name of a file."""


def read_pdf(file: BinaryIO, ocr: Callable[[int], str] | None = None) -> FileText:
    """The text of all pages. A PDF that needs a password, or has no text, is refused with a `ValueError`.

    ``ocr`` reads pages without text: it takes the number of a page, from 0.
    """
    pypdf = optional("pypdf", "files")
    if file.seek(0, io.SEEK_END) > LARGEST_PDF:
        raise ValueError(f"it is larger than {LARGEST_PDF} bytes, the limit")
    file.seek(0)
    reader = pypdf.PdfReader(
        io.BytesIO(file.read(LARGEST_PDF))
    )  # pypdf would read as many bytes as the file claims to have
    if reader.is_encrypted and not _is_open(pypdf, reader):
        raise ValueError("it is encrypted; save a copy without a password first")
    pages = [_page(page, number) for number, page in enumerate(reader.pages, start=1)]
    by_ocr = 0
    for number, page in enumerate(pages):
        if ocr is not None and not page.text:
            pages[number] = Page.of(ocr(number).replace(PAGE_END, "\n").strip(), ())
            by_ocr += 1
    if not any(page.text for page in pages):
        advice = "and OCR finds none" if ocr is not None else "if it is a scan, OCR reads it (maxsieve[pages])"
        raise ValueError(f"there is no text on its {len(pages):,} pages; {advice}")
    headings = by_outline(pages, _targets(reader)) or by_size(pages)
    return FileText(PAGE_END.join(page.text for page in pages), _title(reader), headings, by_ocr)


def _is_open(pypdf: Any, reader: Any) -> bool:
    """Whether an empty password opens it: many files are encrypted in this way, to forbid printing."""
    try:
        return bool(reader.decrypt(""))
    except (pypdf.errors.PyPdfError, NotImplementedError):
        return False


def _page(page: Any, number: int) -> Page:
    """The text of a page, and the pieces that it consists of, with their heights on the page and sizes."""
    pieces: list[PdfPiece] = []

    def visit(text: str, outer: list[float], inner: list[float], _font: Any, size: float) -> None:
        a, b, c, d, x, y = inner
        height = x * outer[1] + y * outer[3] + outer[5]
        scale = abs((a * d - b * c) * (outer[0] * outer[3] - outer[1] * outer[2])) ** 0.5
        pieces.append(PdfPiece(text, height, size * scale))

    try:
        text = str(page.extract_text(visitor_text=visit))
    except (MemoryError, RecursionError):
        raise
    except Exception as problem:
        raise ValueError(f"page {number} can't be read: {problem}") from problem
    return Page.of(text.replace(PAGE_END, "\n"), pieces)


def _targets(reader: Any) -> list[Target]:
    """The entries of its outline (its bookmarks): level, title, page and height on the page. Damaged ones are none."""
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages)}
    found: list[Target] = []
    pending: list[tuple[Any, int]] = []
    try:
        pending = [(entry, 1) for entry in reversed(reader.outline)]
        while pending and len(found) < MOST_HEADINGS:
            entry, level = pending.pop()
            if isinstance(entry, list):
                pending += [(inner, level + 1) for inner in reversed(entry)]
            elif (number := numbers.get(getattr(entry.page, "idnum", None))) is not None:
                top = entry.top if isinstance(entry.top, (int, float)) else None
                found.append(Target(level, " ".join(str(entry.title).split()), number, top))
    except (MemoryError, RecursionError):
        raise
    except Exception:  # a broken outline is no reason to refuse the text
        return found
    return found


def _title(reader: Any) -> str:
    """The title in its metadata, unless a program filled it in."""
    try:
        title = str((reader.metadata or {}).get("/Title") or "").strip()
    except (MemoryError, RecursionError):
        raise
    except Exception:  # a broken title is no reason to refuse the text
        return ""
    return "" if _NO_TITLE.fullmatch(title) else title

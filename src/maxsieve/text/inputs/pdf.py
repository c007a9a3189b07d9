"""The text of a PDF, through pypdf, which is an extra: its pages, with a form feed between them."""

from __future__ import annotations

import io
import re
from typing import Any, BinaryIO

from maxsieve.common.optional import optional
from maxsieve.text.inputs.document import FileText

PAGE_END = "\f"
LARGEST_PDF = 1 << 28
"""Limit on the bytes of a PDF, including its pictures."""

_NO_TITLE = re.compile(
    r"untitled.*|microsoft word - .*|.*\.(docx?|tex|dvi|indd|pptx?|xlsx?|odt|rtf|pdf)", re.IGNORECASE
)
"""Titles that programs fill in themselves, such as the name of a file."""


def read_pdf(file: BinaryIO) -> FileText:
    """The text of all pages. A PDF that needs a password, or has no text, is refused with a `ValueError`."""
    pypdf = optional("pypdf", "files")
    if file.seek(0, io.SEEK_END) > LARGEST_PDF:
        raise ValueError(f"it is larger than {LARGEST_PDF} bytes, the limit")
    file.seek(0)
    reader = pypdf.PdfReader(
        io.BytesIO(file.read(LARGEST_PDF))
    )  # pypdf would read as many bytes as the file claims to have
    if reader.is_encrypted and not _is_open(pypdf, reader):
        raise ValueError("it is encrypted; save a copy without a password first")
    pages = [_text(page, number) for number, page in enumerate(reader.pages, start=1)]
    if not any(pages):
        raise ValueError(f"there is no text on its {len(pages):,} pages; if it is a scan, OCR can put text into it")
    return FileText(PAGE_END.join(pages), _title(reader))


def _is_open(pypdf: Any, reader: Any) -> bool:
    """Whether an empty password opens it: many files are encrypted in this way, to forbid printing."""
    try:
        return bool(reader.decrypt(""))
    except (pypdf.errors.PyPdfError, NotImplementedError):
        return False


def _text(page: Any, number: int) -> str:
    try:
        return str(page.extract_text()).replace(PAGE_END, "\n").strip()
    except (MemoryError, RecursionError):
        raise
    except Exception as problem:
        raise ValueError(f"page {number} can't be read: {problem}") from problem


def _title(reader: Any) -> str:
    """The title in its metadata, unless a program filled it in."""
    try:
        title = str((reader.metadata or {}).get("/Title") or "").strip()
    except (MemoryError, RecursionError):
        raise
    except Exception:  # a broken title is no reason to refuse the text
        return ""
    return "" if _NO_TITLE.fullmatch(title) else title

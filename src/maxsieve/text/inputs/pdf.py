"""The text of a PDF, through pypdf, which is an extra: its pages, with a form feed between them."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from maxsieve.common.optional import optional
from maxsieve.text.inputs.document import FileText

PAGE_END = "\f"
_NO_TITLE = re.compile(
    r"untitled.*|microsoft word - .*|.*\.(docx?|tex|dvi|indd|pptx?|xlsx?|odt|rtf|pdf)", re.IGNORECASE
)
"""What programs write into the field when nobody has: the name of a file."""


def read_pdf(file: BinaryIO) -> FileText:
    """All pages of a PDF. One that needs a password, or has no text, is refused with a `ValueError`."""
    pypdf = optional("pypdf", "files")
    reader = pypdf.PdfReader(file)
    if reader.is_encrypted and not _is_open(pypdf, reader):
        raise ValueError("it is encrypted; write a copy without a password first")
    pages = [_text(page, number) for number, page in enumerate(reader.pages, start=1)]
    if not any(pages):
        raise ValueError(f"there is no text on its {len(pages):,} pages; if it is a scan, OCR can put text into it")
    return FileText(PAGE_END.join(pages), _title(reader))


def _is_open(pypdf: Any, reader: Any) -> bool:
    """Whether anybody may read it: many files are encrypted with an empty password, to forbid printing."""
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
    """What its author called it, unless that is only what a program made up."""
    try:
        title = str((reader.metadata or {}).get("/Title") or "").strip()
    except (MemoryError, RecursionError):
        raise
    except Exception:  # the text is there: a broken title is no reason to refuse it
        return ""
    return "" if _NO_TITLE.fullmatch(title) else title

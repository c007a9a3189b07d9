"""Reads a whole file as one document: text and Markdown as they are, the text of PDF, HTML and Word files."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.common.files import read_small
from maxsieve.text.inputs.compressed import read_compressed, suffix_of
from maxsieve.text.inputs.document import LARGEST_FILE, BadInput, Found, InputDocument, Place
from maxsieve.text.inputs.isolated import READERS, IsolatedReader
from maxsieve.text.inputs.lines import BOM, WIDE_BOMS, not_utf8
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.pages.page import PageDocument, page_id
from maxsieve.text.pages.rendering import PICTURES
from maxsieve.text.pages.rendering import SUFFIXES as PAGED

SUFFIXES = (".txt", ".md", *READERS)
SEVERAL = (".pdf", ".tif", ".tiff")
"""Files that may have several pages."""


def suffixes_of(*, pages: bool) -> tuple[str, ...]:
    """The suffixes of files that are documents; ``pages``: or whose pages are."""
    return (*SUFFIXES, *PICTURES) if pages else SUFFIXES


def read_documents_of(path: Path, identity: str, reader: IsolatedReader, *, pages: bool) -> Found:
    """The documents in a file: one, or with ``pages`` one for each page of a PDF or of a picture."""
    suffix, compressed = suffix_of(path)
    if not (pages and suffix in PAGED and not compressed):
        yield read_file(path, identity, reader)
        return
    place, several = Place(str(path)), suffix in SEVERAL
    try:
        _check_name(identity, path)
        for number, page in enumerate(reader.pages(path, suffix), start=1):
            at = Place(str(path), "page", number) if several else place
            if isinstance(page, PageDocument):
                id = page_id(identity, number) if several else identity
                yield InputDocument(id, page.text, None, at, Outline(()), page, int(page.by_ocr))
            else:
                yield BadInput(at, str(page).removeprefix(f"page {number}: "))
    except BadInput as bad:
        yield bad
    except ValueError as problem:
        yield BadInput(place, str(problem).removeprefix(f"{path} "))


def read_file(path: Path, identity: str, reader: IsolatedReader) -> InputDocument | BadInput:
    """The document in a file; its title, if it has one, is metadata."""
    place = Place(str(path))
    try:
        _check_name(identity, path)
        suffix, compressed = suffix_of(path)
        if suffix in READERS and not compressed:
            text, title, headings, by_ocr = reader.read(path, suffix)
            named = {"title": title} if title else None
            return InputDocument(identity, text, named, place, Outline(headings), by_ocr=by_ocr)
        outline = Outline(None if suffix == ".md" else (), lines=True)
        return InputDocument(identity, _plain_text(path, compressed), None, place, outline)
    except UnicodeDecodeError as problem:
        return BadInput(place, not_utf8(problem))
    except BadInput as bad:
        return bad
    except OSError as problem:
        return BadInput(place, f"can't be read: {problem.strerror}")
    except ValueError as problem:  # a pipe, a device, a file that is too large
        return BadInput(place, str(problem).removeprefix(f"{path} "))


def _check_name(identity: str, path: Path) -> None:
    try:
        identity.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="replace")
        raise BadInput(Place(shown), "the name of the file is not UTF-8") from None


def _plain_text(path: Path, compressed: bool) -> str:
    if compressed:
        content = read_compressed(path, at_most=LARGEST_FILE)
    else:
        content = read_small(path, at_most=LARGEST_FILE, follow_links=True)
    if content.startswith(WIDE_BOMS):
        raise ValueError("UTF-16; convert it first: iconv -f utf-16 -t utf-8")
    return content.removeprefix(BOM).decode()

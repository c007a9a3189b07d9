"""Reads a whole file as one document: texts as they are, the text of PDF, HTML, office files and others."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from maxsieve.common.files import read_small
from maxsieve.text.inputs.compressed import read_compressed, suffix_of
from maxsieve.text.inputs.decoding import decode_text
from maxsieve.text.inputs.document import LARGEST_FILE, BadInput, Found, InputDocument, Place
from maxsieve.text.inputs.grammars import GRAMMARS
from maxsieve.text.inputs.isolated import READERS, IsolatedReader
from maxsieve.text.inputs.kinds import MARKDOWN_SUFFIXES, MARKUP, PLAIN, SOURCE, kind_of, outline_of
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.pages.page import PageDocument, page_id
from maxsieve.text.pages.rendering import SUFFIXES as PAGED

SUFFIXES = (*PLAIN, *MARKDOWN_SUFFIXES, *MARKUP, *SOURCE, ".log", ".xml", *READERS)
"""Files that are one document each, wherever they are. Others, such as CSV, are so only in a folder."""

FACTS = ("path", "folder", "name", "type", "modified", "size", "encoding")
"""The metadata that every file has, and its encoding if it is not UTF-8."""
SEVERAL = (".pdf", ".tif", ".tiff")
"""Files that may have several pages."""


def read_documents_of(path: Path, identity: str, reader: IsolatedReader, *, pages: bool) -> Found:
    """The documents in a file: one, or with ``pages`` one for each page of a PDF or of a picture."""
    suffix, compressed = suffix_of(path)
    if not (pages and suffix in PAGED and not compressed):
        yield read_file(path, identity, reader)
        return
    place, several = Place(str(path)), suffix in SEVERAL
    try:
        _check_name(identity, path)
        facts = facts_of(path, identity)
        for number, page in enumerate(reader.pages(path, suffix), start=1):
            at = Place(str(path), "page", number) if several else place
            if isinstance(page, PageDocument):
                id = page_id(identity, number) if several else identity
                yield InputDocument(id, page.text, facts, at, Outline(()), page, int(page.by_ocr))
            else:
                yield BadInput(at, str(page).removeprefix(f"page {number}: "))
    except BadInput as bad:
        yield bad
    except OSError as problem:
        yield BadInput(place, f"can't be read: {problem.strerror}")
    except ValueError as problem:
        yield BadInput(place, str(problem).removeprefix(f"{path} "))


def read_file(path: Path, identity: str, reader: IsolatedReader, *, parsed: bool = True) -> InputDocument | BadInput:
    """The document in a file; what is known of the file, and its title, if it has one, are metadata.

    Without ``parsed``, source code has no headings.
    """
    place = Place(str(path))
    try:
        _check_name(identity, path)
        facts = facts_of(path, identity)
        suffix, compressed = suffix_of(path)
        if suffix in READERS and not compressed:
            text, title, headings, by_ocr = reader.read(path, suffix)
            facts |= {"title": title} if title else {}
            return InputDocument(identity, text, facts, place, Outline(headings), by_ocr=by_ocr)
        text, encoding = decode_text(_content(path, compressed))
        facts |= {"encoding": encoding} if encoding else {}
        outline = source_outline(text, suffix, reader) if parsed and suffix in GRAMMARS else outline_of(text, suffix)
        return InputDocument(identity, text, facts, place, outline)
    except BadInput as bad:
        return bad
    except OSError as problem:
        return BadInput(place, f"can't be read: {problem.strerror}")
    except ValueError as problem:  # a pipe, a device, a file that is too large, or no text
        return BadInput(place, str(problem).removeprefix(f"{path} "))


def source_outline(text: str, suffix: str, reader: IsolatedReader) -> Outline:
    """The functions and classes of source code: ``Class.method``."""
    return Outline(reader.definitions(text, suffix), lines=True, joint=".")


def _check_name(identity: str, path: Path) -> None:
    try:
        identity.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="replace")
        raise BadInput(Place(shown), "the name of the file is not UTF-8") from None


def facts_of(path: Path, identity: str) -> dict[str, Any]:
    """The metadata of a file: the time is that of its last change, in UTC."""
    status = os.stat(path)
    changed = datetime.fromtimestamp(status.st_mtime, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = PurePosixPath(identity).parent.as_posix()
    named = {"path": identity, "folder": folder, "name": path.name, "type": suffix_of(path)[0][1:] or kind_of(path)}
    return {**named, "modified": changed, "size": status.st_size}


def _content(path: Path, compressed: bool) -> bytes:
    if compressed:
        return read_compressed(path, at_most=LARGEST_FILE)
    return read_small(path, at_most=LARGEST_FILE, follow_links=True)

"""Reads a whole file as one document: text and Markdown as they are, the text of PDF, HTML and Word files."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.common.files import read_small
from maxsieve.text.inputs.compressed import read_compressed, suffix_of
from maxsieve.text.inputs.document import LARGEST_FILE, BadInput, InputDocument, Place
from maxsieve.text.inputs.isolated import READERS, IsolatedReader
from maxsieve.text.inputs.lines import BOM, WIDE_BOMS, not_utf8
from maxsieve.text.inputs.outline import Outline

SUFFIXES = (".txt", ".md", *READERS)


def read_file(path: Path, identity: str, reader: IsolatedReader) -> InputDocument | BadInput:
    """The document in a file; its title, if it has one, is metadata."""
    place = Place(str(path))
    try:
        identity.encode()
        suffix, compressed = suffix_of(path)
        if suffix in READERS and not compressed:
            text, title, headings = reader.read(path, suffix)
            return InputDocument(identity, text, {"title": title} if title else None, place, Outline(headings))
        outline = Outline(None if suffix == ".md" else (), lines=True)
        return InputDocument(identity, _plain_text(path, compressed), None, place, outline)
    except UnicodeDecodeError as problem:
        return BadInput(place, not_utf8(problem))
    except UnicodeEncodeError:
        return BadInput(Place(os.fsencode(path).decode(errors="replace")), "the name of the file is not UTF-8")
    except OSError as problem:
        return BadInput(place, f"can't be read: {problem.strerror}")
    except ValueError as problem:  # a pipe, a device, a file that is too large
        return BadInput(place, str(problem).removeprefix(f"{path} "))


def _plain_text(path: Path, compressed: bool) -> str:
    if compressed:
        content = read_compressed(path, at_most=LARGEST_FILE)
    else:
        content = read_small(path, at_most=LARGEST_FILE, follow_links=True)
    if content.startswith(WIDE_BOMS):
        raise ValueError("UTF-16; convert it first: iconv -f utf-16 -t utf-8")
    return content.removeprefix(BOM).decode()

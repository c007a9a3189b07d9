"""A folder of text files: each is a document, its path within the folder the id."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.common.files import read_small
from maxsieve.text.inputs.document import BadInput, Found, InputDocument, Place
from maxsieve.text.inputs.lines import BOM, WIDE_BOMS, not_utf8

SUFFIXES = (".txt", ".md")
LARGEST_FILE = 1 << 26
"""Bytes of a text file; more is no document."""


def text_files(folder: Path) -> list[Path]:
    """The .txt and .md files below the folder, in order of their paths; hidden ones and links to folders left out."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)


def read_folder(folder: Path) -> Found:
    """The files below the folder."""
    files = text_files(folder)
    if not files:
        raise ValueError(f"there is no .txt or .md file in {folder}")
    for path in files:
        yield read_file(path, path.relative_to(folder).as_posix())


def read_file(path: Path, identity: str) -> InputDocument | BadInput:
    """A whole file as one document."""
    place = Place(str(path))
    try:
        content = read_small(path, at_most=LARGEST_FILE, follow_links=True)
        identity.encode()
        if content.startswith(WIDE_BOMS):
            return BadInput(place, "UTF-16; convert it first: iconv -f utf-16 -t utf-8")
        return InputDocument(identity, content.removeprefix(BOM).decode(), None, place)
    except UnicodeDecodeError as problem:
        return BadInput(place, not_utf8(problem))
    except UnicodeEncodeError:
        return BadInput(Place(os.fsencode(path).decode(errors="replace")), "the name of the file is not UTF-8")
    except OSError as problem:
        return BadInput(place, f"can't be read: {problem.strerror}")
    except ValueError as problem:  # a pipe, a device, a file without end
        return BadInput(place, str(problem).removeprefix(f"{path} "))


def _raise(problem: OSError) -> None:
    raise problem

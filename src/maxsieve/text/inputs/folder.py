"""A folder of text files: each is a document, its path within the folder the id."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.text.inputs.lines import BOM, WIDE_BOMS, not_utf8
from maxsieve.text.inputs.record import BadRecord, Found, Place, Record

SUFFIXES = (".txt", ".md")


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


def read_file(path: Path, identity: str) -> Record | BadRecord:
    """A whole file as one document."""
    place = Place(str(path))
    try:
        content = path.read_bytes()
        identity.encode()
        if content.startswith(WIDE_BOMS):
            return BadRecord(place, "UTF-16; convert it first: iconv -f utf-16 -t utf-8")
        return Record(identity, content.removeprefix(BOM).decode(), None, place)
    except UnicodeDecodeError as problem:
        return BadRecord(place, not_utf8(problem))
    except UnicodeEncodeError:
        return BadRecord(Place(os.fsencode(path).decode(errors="replace")), "the name of the file is not UTF-8")
    except OSError as problem:
        return BadRecord(place, f"can't be read: {problem.strerror}")


def _raise(problem: OSError) -> None:
    raise problem

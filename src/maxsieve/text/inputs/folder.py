"""A folder of files: each is a document, its path within the folder the id."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.text.inputs.apart import Apart
from maxsieve.text.inputs.document import Found
from maxsieve.text.inputs.files import SUFFIXES, read_file


def document_files(folder: Path, *, without: Path | None = None) -> list[Path]:
    """The files below the folder that are documents by their suffix, in order of their paths.

    Hidden ones and links to folders are left out, and so is the folder ``without``.
    """
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".") and Path(parent, name) != without]
        found += [Path(parent, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)


def read_folder(folder: Path) -> Found:
    """The files below the folder."""
    files = document_files(folder)
    if not files:
        raise ValueError(no_documents(folder))
    with Apart() as apart:
        for path in files:
            yield read_file(path, path.relative_to(folder).as_posix(), apart)


def no_documents(folder: Path) -> str:
    """What to say of a folder without documents."""
    *others, last = SUFFIXES
    return f"there is no {', '.join(others)} or {last} file in {folder}"


def _raise(problem: OSError) -> None:
    raise problem

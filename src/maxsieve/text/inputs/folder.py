"""Reads a folder: each file is a document, and its path in the folder is the id."""

from __future__ import annotations

import os
from pathlib import Path

from maxsieve.text.inputs.document import Found
from maxsieve.text.inputs.files import SUFFIXES, read_file
from maxsieve.text.inputs.isolated import IsolatedReader


def document_files(folder: Path, *, without: Path | None = None) -> list[Path]:
    """The files below the folder that are documents by their suffix, in order of their paths.

    Hidden ones and links to folders are left out, and so is the folder ``without``.
    """
    found: list[Path] = []
    left_out = None if without is None else os.stat(without)
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not (name.startswith(".") or _is(Path(parent, name), left_out))]
        found += [Path(parent, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)


def read_folder(folder: Path) -> Found:
    """The files below the folder."""
    files = document_files(folder)
    if not files:
        raise ValueError(no_documents(folder))
    with IsolatedReader() as reader:
        for path in files:
            yield read_file(path, path.relative_to(folder).as_posix(), reader)


def no_documents(folder: Path) -> str:
    """The error message for a folder without documents."""
    *others, last = SUFFIXES
    return f"there is no {', '.join(others)} or {last} file in {folder}"


def _is(folder: Path, known: os.stat_result | None) -> bool:
    """Whether it is a folder that is known. Names don't tell: on macOS and Windows `A` and `a` are the same folder."""
    try:
        return known is not None and os.path.samestat(os.stat(folder), known)
    except OSError:  # a link to nowhere, or gone by now
        return False


def _raise(problem: OSError) -> None:
    raise problem

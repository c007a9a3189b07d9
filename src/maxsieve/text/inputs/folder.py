"""Reads a folder: each file is a document, and its path in the folder is the id."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from maxsieve.text.inputs.document import BadInput, Found, Place
from maxsieve.text.inputs.files import read_documents_of, suffixes_of
from maxsieve.text.inputs.isolated import IsolatedReader


def document_files(
    folder: Path,
    *,
    without: Path | None = None,
    refused: Callable[[OSError], None] | None = None,
    inside: bool = False,
    also: tuple[str, ...] = (),
    pages: bool = False,
) -> list[Path]:
    """The files below the folder that are documents by their suffix, in order of their paths.

    Hidden ones and links to folders are left out, and so is the folder ``without``. If a folder can't be listed,
    ``refused`` is called with the error; without it, the error is raised. With ``inside``, links that lead out of the
    folder are left out, too. ``also`` are further suffixes, of files that are text. With ``pages``, pictures are
    documents, too.
    """
    found: list[Path] = []
    suffixes = suffixes_of(pages=pages) + also
    left_out = None if without is None else os.stat(without)
    for parent, folders, names in os.walk(folder, onerror=refused or _raise):
        folders[:] = [name for name in folders if not (name.startswith(".") or _is(Path(parent, name), left_out))]
        found += [Path(parent, name) for name in names if name.lower().endswith(suffixes) and not name.startswith(".")]
    return sorted(path for path in found if not (inside and leads_out(path, folder)))


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a file is a link to something outside of the folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def read_folder(folder: Path, *, pages: bool = False, ocr: bool = False) -> Found:
    """The documents of the files below the folder."""
    unlisted: list[OSError] = []
    files = document_files(folder, refused=unlisted.append, pages=pages)
    yield from map(unlisted_folder, unlisted)
    if not files:
        raise ValueError(no_documents(folder, pages=pages))
    with IsolatedReader(ocr=ocr) as reader:
        for path in files:
            yield from read_documents_of(path, path.relative_to(folder).as_posix(), reader, pages=pages)


def unlisted_folder(problem: OSError) -> BadInput:
    """The error for a folder that can't be listed: it is not readable, or was removed since its name was read."""
    return BadInput(Place(str(problem.filename)), f"the folder can't be listed: {problem.strerror}")


def no_documents(folder: Path, *, pages: bool = False) -> str:
    """The error message for a folder without documents."""
    *others, last = suffixes_of(pages=pages)
    return f"there is no {', '.join(others)} or {last} file in {folder}"


def _is(folder: Path, known: os.stat_result | None) -> bool:
    """Whether it is a folder that is known. Names don't tell: on macOS and Windows `A` and `a` are the same folder."""
    try:
        return known is not None and os.path.samestat(os.stat(folder), known)
    except OSError:  # a link to nowhere, or gone by now
        return False


def _raise(problem: OSError) -> None:
    raise problem

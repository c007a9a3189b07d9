"""Reads a folder: each file is a document, and its path in the folder is the id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maxsieve.text.inputs.document import BadInput, Found, Place
from maxsieve.text.inputs.files import read_documents_of
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.survey import survey


def read_folder(
    folder: Path, *, pages: bool = False, ocr: bool = False, prefix: str = "", include: Sequence[str] = ()
) -> Found:
    """The documents of the files below the folder. ``prefix`` is put before each id."""
    unlisted: list[OSError] = []
    files = survey(folder, refused=unlisted.append, include=include, pages=pages).files
    yield from map(unlisted_folder, unlisted)
    if not files:
        raise ValueError(no_documents(folder))
    with IsolatedReader(ocr=ocr) as reader:
        for file in files:
            yield from read_documents_of(Path(file.path), prefix + file.id, reader, pages=pages)


def unlisted_folder(problem: OSError) -> BadInput:
    """The error for a folder that can't be listed: it is not readable, or was removed since its name was read."""
    return BadInput(Place(str(problem.filename)), f"the folder can't be listed: {problem.strerror}")


def no_documents(folder: Path) -> str:
    """The error message for a folder without documents."""
    return f"there is no file in {folder} that can be read: no text, PDF, HTML, Word or other document"

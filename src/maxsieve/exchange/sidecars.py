"""Lengths and ids in files of their own, beside a file of rows; or given by the caller, or named by him."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import PathLike, open_regular
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.header import load_array
from maxsieve.ids import Id, to_ids

LENGTHS = ("{}.lengths.npy", "{}.doclens.npy", "{}.doclens.json", "doclens.{}.json", "doclens.{}.npy")
"""Where the lengths of the rows in NAME.npy or NAME.pt may be, the first that exists: ours, PyLate's, ColBERT's."""

IDS = "{}.ids.json"


def beside(path: PathLike, pattern: str) -> Path:
    """A file's companion.

    >>> beside("dir/a.b.npy", IDS).name
    'a.b.ids.json'
    """
    path = Path(path)
    return path.with_name(pattern.format(path.stem))


def find_lengths(path: PathLike) -> Path | None:
    """The file beside ``path`` that has its lengths."""
    return next((each for pattern in LENGTHS if (each := beside(path, pattern)).is_file()), None)


def lengths_beside(path: PathLike) -> NDArray[Any]:
    """The lengths in the file beside ``path``."""
    if (found := find_lengths(path)) is None:
        names = ", ".join(beside(path, pattern).name for pattern in LENGTHS)
        raise ValueError(
            f"{os.fspath(path)}: how long each document is, is not known: give lengths=, or beside it one of {names}"
        )
    return load_lengths(found)


def load_lengths(path: PathLike) -> NDArray[Any]:
    """Lengths from a ``.npy`` file or a JSON list."""
    if Path(path).suffix.lower() == ".npy":
        return load_array(path)
    numbers = load_list(path)
    if not all(type(each) is int and 0 <= each < 2**63 for each in numbers):
        raise ValueError(f"{os.fspath(path)} must hold whole numbers from 0 on, the lengths of documents")
    return np.array(numbers, np.int64)


def load_ids(path: PathLike) -> list[Id]:
    """Ids from a JSON list."""
    with naming_content_errors(path):
        return to_ids(load_list(path), "ids")


def ids_beside(path: Path) -> list[Id] | None:
    """The ids in this file, if there is one."""
    return load_ids(path) if path.is_file() else None


def given_lengths(given: Any) -> Any:
    """The lengths a caller gave: themselves, or a file of them."""
    return load_lengths(given) if isinstance(given, (str, os.PathLike)) else given


def given_ids(given: Any) -> list[Id] | None:
    """The ids a caller gave: themselves, or a file of them."""
    if isinstance(given, (str, os.PathLike)):
        return load_ids(given)
    return None if given is None else to_ids(given, "ids")


def load_list(path: PathLike) -> list[Any]:
    """A JSON list."""
    try:
        with open_regular(path, follow_links=True) as file:
            content = file.read()
        loaded = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{os.fspath(path)} is no JSON: {problem}") from None
    if not isinstance(loaded, list):
        raise ValueError(f"{os.fspath(path)} must hold a JSON list, not {type(loaded).__name__}")
    return loaded


def dump_list(values: list[Any]) -> bytes:
    """A list as JSON in ASCII, so that any str survives.

    >>> json.loads(dump_list(["ö", "b"]))
    ['ö', 'b']
    """
    return json.dumps(values).encode("ascii")

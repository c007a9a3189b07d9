"""Lengths and ids: in separate files beside a file of rows, in files that the caller names, or given directly."""

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
"""Files that may hold the lengths of NAME.npy or NAME.pt; the first that exists is used: ours, PyLate's, ColBERT's."""

IDS = "{}.ids.json"


def beside(path: PathLike, pattern: str) -> Path:
    """The path of a file that belongs to another one.

    >>> beside("dir/a.b.npy", IDS).name
    'a.b.ids.json'
    """
    path = Path(path)
    return path.with_name(pattern.format(path.stem))


def find_lengths(path: PathLike) -> Path | None:
    """The file beside ``path`` that holds its lengths, if there is one."""
    return next((each for pattern in LENGTHS if (each := beside(path, pattern)).is_file()), None)


def lengths_beside(path: PathLike) -> NDArray[Any]:
    """The lengths in the file beside ``path``."""
    if (found := find_lengths(path)) is None:
        names = ", ".join(beside(path, pattern).name for pattern in LENGTHS)
        raise ValueError(
            f"{os.fspath(path)}: the lengths of documents are not known: give lengths=, or "
            f"one of these files beside it: {names}"
        )
    return load_lengths(found)


def load_lengths(path: PathLike) -> NDArray[Any]:
    """Lengths from a ``.npy`` file or a JSON list."""
    if Path(path).suffix.lower() == ".npy":
        return load_array(path)
    numbers = load_list(path)
    if not all(type(each) is int and 0 <= each < 2**63 for each in numbers):
        raise ValueError(f"{os.fspath(path)} must contain the lengths of documents, whole numbers of at least 0")
    return np.array(numbers, np.int64)


def load_ids(path: PathLike) -> list[Id]:
    """Ids from a JSON list."""
    with naming_content_errors(path):
        return to_ids(load_list(path), "ids")


def ids_beside(path: Path) -> list[Id] | None:
    """The ids in this file, if there is one."""
    return load_ids(path) if path.is_file() else None


def given_lengths(given: Any) -> Any:
    """The lengths that the caller gave, directly or as a file."""
    return load_lengths(given) if isinstance(given, (str, os.PathLike)) else given


def given_ids(given: Any) -> list[Id] | None:
    """The ids that the caller gave, directly or as a file."""
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
        raise ValueError(f"{os.fspath(path)} is not valid JSON: {problem}") from None
    if not isinstance(loaded, list):
        raise ValueError(f"{os.fspath(path)} must contain a JSON list, not {type(loaded).__name__}")
    return loaded


def dump_list(values: list[Any]) -> bytes:
    """A list as JSON in ASCII, so that any str survives the round trip.

    >>> json.loads(dump_list(["ö", "b"]))
    ['ö', 'b']
    """
    return json.dumps(values).encode("ascii")

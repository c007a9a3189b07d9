"""Collections by their path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from maxsieve.ids import Id

if TYPE_CHECKING:
    from maxsieve.text import Collection


def is_collection(path: Path) -> bool:
    """Whether there is a collection, whole or damaged."""
    return (path / "collection.json").exists()


def open_collection(path: Path, encoder: str | None = None) -> Collection:
    """The collection there, with the encoder that the user names, if any; what to do is said if there is none."""
    from maxsieve.text import Collection

    if not path.exists():
        raise FileNotFoundError(f"there is no collection {path}; maxsieve index makes one")
    return Collection.open(path, encoder)


def id_reader(collection: Collection) -> Callable[[str], Id]:
    """How to read an id, which is text on the command line, as the collection has them: all str or all int."""
    if isinstance(next(iter(collection.ids), ""), str):
        return str

    def to_int(text: str) -> int:
        if not text.removeprefix("-").isdecimal():
            raise ValueError(f"{text!r} can't be an id of this collection, whose ids are whole numbers")
        return int(text)

    return to_int


def describe_size(collection: Collection) -> str:
    """How much there is in it."""
    index, documents = collection.index, len(collection)
    passages = f" in {len(index):,} passages" if len(index) > documents else ""
    return f"{documents:,} documents{passages}, {index.tokens:,} tokens, {bytes_text(index.nbytes)}"


def bytes_text(count: int) -> str:
    """A size for people.

    >>> bytes_text(1_536_000), bytes_text(512)
    ('1.5 MB', '512 bytes')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"

"""Turns a stream of documents into the columns of `Collection.add`: texts, ids and so on, read lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import tee
from typing import Any

from maxsieve.ids import Id
from maxsieve.text.inputs.document import InputDocument


class Expected:
    """A column with an expected length, for the progress bar."""

    def __init__(self, column: Iterable[Any], length: int) -> None:
        self._column, self._length = column, length

    def __iter__(self) -> Iterator[Any]:
        return iter(self._column)

    def __len__(self) -> int:
        return self._length


def as_columns(
    documents: Iterable[InputDocument], expected: int | None, to_id: Callable[[str], Id] | None
) -> dict[str, Any]:
    """The arguments of `Collection.add`; without ``to_id`` there are no ids.

    >>> from maxsieve.text.inputs.document import Place
    >>> columns = as_columns([InputDocument("a", "Alpha", None, Place("it"))], 1, str)
    >>> {name: list(column) for name, column in columns.items()}
    {'texts': ['Alpha'], 'ids': ['a'], 'metadata': [None], 'outlines': [None]}
    """
    texts, ids, metadata, outlines = tee(documents, 4)
    column = (document.content for document in texts)
    return {
        "texts": column if expected is None else Expected(column, expected),
        "ids": None if to_id is None else (to_id(document.id or "") for document in ids),
        "metadata": (document.metadata for document in metadata),
        "outlines": (document.outline for document in outlines),
    }

"""Which documents of a segment match a filter: SQLite is asked, some records at a time, and the answer remembered."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.storage.questions import Question, to_question
from maxsieve.where import Where

SCHEMA = "CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)"

ROWS = 512
"""Records asked about at a time: nothing is locked for longer, and Ctrl-C comes in between."""

KEPT = 16
"""Answers that are remembered for a segment, a byte a document each."""

Mask: TypeAlias = NDArray[np.bool_]


class Masks:
    """Answers to the last filters. Two threads with the same filter wait for one answer."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Mask] = OrderedDict()
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[type[Masks], tuple[()]]:
        return Masks, ()  # what is remembered can be found again

    def get(self, where: Where, find: Callable[[], Mask]) -> Mask:
        """The answer to a filter, found if it is not known."""
        with self._turn:
            mask = self._known.pop(where.key, None)
            if mask is None:
                mask = find()
                mask.flags.writeable = False
            self._known[where.key] = mask
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return mask


def find_matches(
    where: Where,
    documents: int,
    ask: Callable[[Question, int], Iterable[Any]],
    read: Callable[[int], Any],
) -> Mask:
    """Whether each document matches, by position.

    ``ask`` puts a question about the next `ROWS` positions, from one on, to SQLite; ``read`` gives the record at one.
    """
    question = to_question(where, ROWS)
    if not _understood(question):
        return np.fromiter((where.matches(read(position)) for position in range(documents)), np.bool_, documents)
    mask = np.full(documents, where.matches(None))
    for first in range(0, documents, ROWS):
        for position, verdict in ask(question, first):
            mask[position] = where.matches(read(position)) if verdict is None else verdict
    return mask


def match_texts(where: Where, documents: int, texts: dict[int, str], read: Callable[[int], Any]) -> Mask:
    """The same for records in memory: they pass through a table of SQLite's in memory, some at a time."""
    with closing(_in_memory()) as connection:

        def ask(question: Question, first: int) -> list[Any]:
            some = range(first, first + ROWS)
            connection.execute("DELETE FROM records")
            connection.executemany("INSERT INTO records VALUES (?, ?)", ((i, texts[i]) for i in some if i in texts))
            return connection.execute(question.text, question.between(first, first + ROWS)).fetchall()

        return find_matches(where, documents, ask, read)


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(SCHEMA)
    return connection


def _understood(question: Question) -> bool:
    """Whether this SQLite can be asked: one without JSON, or with narrow limits, can't, and Python decides all."""
    with closing(_in_memory()) as connection:
        try:
            connection.execute(question.text, question.between(0, 0)).fetchall()
        except sqlite3.Error:
            return False
    return True

"""Which documents of a segment match a filter: SQLite evaluates it in batches, and the result is cached."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.storage.filter_sql import Question, to_question
from maxsieve.where import Where

SCHEMA = "CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)"

ROWS = 512
"""Records in a batch. Between two batches nothing is locked, and Ctrl-C is handled."""

KEPT = 16
"""Cached results per segment; each takes one byte per document."""

Mask: TypeAlias = NDArray[np.bool_]


class Masks:
    """The results of the last filters. Two threads with the same filter wait for one evaluation."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Mask] = OrderedDict()
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[type[Masks], tuple[()]]:
        return Masks, ()  # the cache can be computed again

    def get(self, where: Where, find: Callable[[], Mask]) -> Mask:
        """The result of a filter, from the cache or evaluated now."""
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

    ``ask`` runs an SQL query about `ROWS` positions from a first one on; ``read`` returns the record at a position.
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
    """The same for records in memory: they are copied, in batches, to an SQLite table in memory."""
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
    """Whether this SQLite can evaluate the query. Without JSON or with low limits it can't, and Python does it."""
    with closing(_in_memory()) as connection:
        try:
            connection.execute(question.text, question.between(0, 0)).fetchall()
        except sqlite3.Error:
            return False
    return True

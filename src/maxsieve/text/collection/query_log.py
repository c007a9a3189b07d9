"""A random sample of the queries that a service was asked: real queries to calibrate on. It is kept only if asked for.

The file is in ``queries/`` inside the collection. Only the owner of the folder can read it.
"""

from __future__ import annotations

import json
import os
import random
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from maxsieve.common.files import check_own_folder, opening_own_file, read_small, replacing_as, sync_folder
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.sealed_json import reading_fields

FOLDER, NAME = "queries", "sample.json"
FORMAT, VERSION = "maxsieve queries", 1

KEPT = 1000
"""The most queries in a sample: ten times as many as an overlap of 0.99 needs."""

LONGEST = 2048
"""Queries with more characters are not kept."""

MOST_BYTES = 32 << 20
"""Limit on the file: each character takes at most 12 bytes."""

PAUSE = 10.0
"""The file is written at most once in so many seconds."""


class QuerySample(NamedTuple):
    """A random sample of the queries, and of how many it is."""

    asked: int
    queries: list[str]

    @classmethod
    def read(cls, collection: Path) -> QuerySample | None:
        """The sample of a collection, checked; None if there is none."""
        path = check_own_folder(collection / FOLDER) / NAME
        try:
            with opening_own_file(path):
                content = read_small(path, at_most=MOST_BYTES)
        except FileNotFoundError:
            return None
        with reading_fields(path):
            fields = json.loads(content)
            if not isinstance(fields, dict) or fields.get("format") != FORMAT:
                raise DamagedIndexError(f"{path} is not a sample of queries")
            if type(version := fields["version"]) is int and version > VERSION:
                raise MaxsieveError(f"{path} has format version {version}; this maxsieve reads up to {VERSION}")
            found = cls(fields["asked"], fields["queries"])
            texts = isinstance(found.queries, list) and all(map(_is_kept, found.queries))
            if not texts or type(found.asked) is not int or not len(found.queries) <= min(found.asked, KEPT):
                raise ValueError("it does not hold a list of queries")
        return found


class QueryLog:
    """Keeps a sample of a collection's queries, in which each has the same chance to be. One process at a time may.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = QueryLog(Path(folder))
    ...     log.take("where do foxes sleep")
    ...     log.close()
    ...     QuerySample.read(Path(folder))
    True
    QuerySample(asked=1, queries=['where do foxes sleep'])
    """

    def __init__(self, collection: Path) -> None:
        self._folder = check_own_folder(collection / FOLDER)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._held = ExitStack()
        self._check_lock = self._held.enter_context(writer_lock(self._folder))
        try:
            found = QuerySample.read(collection) or QuerySample(0, [])
        except BaseException:
            self._held.close()
            raise
        self._asked, self._queries = found
        self._chance, self._turn, self._writing = random.Random(), threading.Lock(), threading.Lock()
        self._changed, self._written = False, -PAUSE

    def take(self, text: str) -> bool:
        """Takes a query into the sample, or not. Returns whether it is time to write the file; never waits for that."""
        if not _is_kept(text):
            return False
        with self._turn:
            self._asked += 1
            place = self._chance.randrange(self._asked)
            if len(self._queries) < KEPT:
                self._queries.append(text)
            elif place < KEPT:
                self._queries[place] = text
            self._changed = True
            if due := monotonic() - self._written >= PAUSE:
                self._written = monotonic()
            return due

    def write(self) -> None:
        """Writes the file, if it has changed."""
        with self._writing:
            with self._turn:
                if not self._changed:
                    return
                self._changed = False
                fields = {"format": FORMAT, "version": VERSION, "asked": self._asked, "queries": list(self._queries)}
            try:
                self._replace(json.dumps(fields).encode())
            except BaseException:
                self._changed = True
                raise

    def _replace(self, content: bytes) -> None:
        self._check_lock()
        path = self._folder / NAME
        with replacing_as(path.with_name(NAME + ".tmp"), path) as file:
            with suppress(OSError):  # a file system without permissions
                os.chmod(file.name, 0o600)
            file.write(content)
        sync_folder(self._folder)

    def close(self) -> None:
        """Writes what is left, and lets others keep the sample."""
        with self._held:
            self.write()


def _is_kept(text: object) -> bool:
    """Whether a text can be in a sample."""
    return isinstance(text, str) and bool(text.strip()) and len(text) <= LONGEST

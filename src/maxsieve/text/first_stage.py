"""First stages: something cheap that names candidates, among which late interaction then finds the best."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from maxsieve.text.collection import Collection

FirstStage: TypeAlias = Callable[[str, int], Sequence[Id]]
"""``(query, depth)`` -> ids of at most ``depth`` candidates, best first."""

FOLDER = "bm25"
READ = 4096
"""Texts read at a time."""


class BM25:
    """Okapi BM25 over the texts of a collection, by `bm25s` (extra ``maxsieve[bm25]``) with its defaults.

    Its table is kept in the collection's folder and made anew when the collection has changed. Words are runs of at
    least two letters or digits, in lower case, without English stop words; a document that shares none with the query
    is no candidate.
    """

    def __init__(self, collection: Collection) -> None:
        _bm25s()
        self._collection = collection
        self._guard = threading.Lock()
        self._table: _Table | None = None

    @classmethod
    def of(cls, collection: Collection) -> BM25:
        """The one that belongs to a collection, in its present state."""
        if collection._bm25 is None:
            collection._bm25 = cls(collection)
        collection._bm25._current()
        return collection._bm25

    def __call__(self, query: str, depth: int) -> list[Id]:
        """Ids of the ``depth`` documents that suit the query best, best first; of equals, the first that was added."""
        depth = as_count(depth, "depth", at_least=1)
        state, retriever = self._current()
        [words] = _tokenize([query], return_ids=False)
        if retriever is None or not words:
            return []
        scores = retriever.get_scores(words)
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")[:depth]]
        return [state.ids[int(position)] for position in state.live[best]]

    def _current(self) -> _Table:
        state = self._collection.index.snapshot
        with self._guard:
            if self._table is None or self._table.state.version != state.version:
                self._table = _Table(state, _retriever(state, self._collection.path / FOLDER))
            return self._table


class _Table(NamedTuple):
    """Scores of words in documents, for one state of the index; None if no document has a word."""

    state: Snapshot
    retriever: Any


def _retriever(state: Snapshot, folder: Path) -> Any:
    """Read from the folder, or made and put there."""
    path = folder / f"{state.version}-{_bm25s().__version__}"
    try:
        loaded = _bm25s().BM25.load(path, mmap=True)
        if loaded.scores["num_docs"] == len(state.live):
            return loaded
    except Exception:  # whatever is wrong with a cache, it can be made anew
        pass
    made = _make(state)
    if made is not None:
        with suppress(OSError):  # a folder that can't be written to can still be searched
            _keep(made, path)
    return made


def _make(state: Snapshot) -> Any:
    texts: list[str] = []
    for start in range(0, len(state.live), READ):
        texts += [record["text"] for record in state.metadata(state.live[start : start + READ].tolist())]
    words = _tokenize(texts)
    if not any(words.ids):
        return None
    retriever = _bm25s().BM25()
    retriever.index(words, show_progress=False)
    return retriever


def _keep(retriever: Any, path: Path) -> None:
    """Writes a folder under a name of its own and gives it the right one, then removes those of other states."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        retriever.save(temporary, show_progress=False)
        for file in temporary.iterdir():
            with open(file, "rb+") as written:
                os.fsync(written.fileno())
        if path.exists():  # it was damaged
            shutil.rmtree(path)
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in path.parent.iterdir():
        if other.name != path.name:
            shutil.rmtree(other, ignore_errors=True)


def _tokenize(texts: list[str], *, return_ids: bool = True) -> Any:
    return _bm25s().tokenize(texts, return_ids=return_ids, show_progress=False)


def _bm25s() -> Any:
    return optional("bm25s", "bm25")

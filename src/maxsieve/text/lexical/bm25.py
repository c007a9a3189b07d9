"""First stages: cheap methods that select candidates, among which late interaction then finds the best."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.ids import Id, to_ids
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.lexical.scores import Lexical, best_of
from maxsieve.text.lexical.stems import Stems
from maxsieve.text.lexical.word_table import WordTable, current_table, find_table, keep_table
from maxsieve.text.passages import Keys, check_record
from maxsieve.where import Where

if TYPE_CHECKING:
    from maxsieve.text.collection.collection import Collection
    from maxsieve.text.collection.search import Searchable

FirstStage: TypeAlias = Callable[[str, int], Sequence[Id]]
"""``(query, depth)`` -> ids of at most ``depth`` candidates, best first."""

READ = 4096
"""How many texts are read at a time."""

DEEPER = 4
"""When too few candidates of a function match a filter, it is asked for this many times more."""


class BM25:
    """Okapi BM25 over the texts of a collection, by `bm25s` (extra ``maxsieve[text]``) with its defaults.

    Its table is stored in the collection's folder, and built again when the collection has changed. Words are runs of
    at least two letters or digits, in lower case, without English stop words, stemmed by the English Snowball stemmer
    (PyStemmer). A document that shares no word with the query is not a candidate. Words of other languages are stemmed
    in the same way in documents and queries, so they still match, but not in every form.
    """

    def __init__(self, collection: Collection) -> None:
        self._stems = Stems()
        self._collection = collection
        self._guard = threading.Lock()
        self._current_state: _State | None = None

    @classmethod
    def of(cls, collection: Searchable) -> BM25:
        """The one that belongs to a collection, in its present state."""
        bm25 = collection.bm25
        bm25._current()
        return bm25

    def __call__(self, query: str, depth: int, where: Where | None = None) -> list[Id]:
        """Ids of the ``depth`` documents with the highest scores, best first; ties are broken by insertion order.

        A document in passages has the score of its best passage. With ``where``, documents that do not match it are
        left out.
        """
        depth = as_count(depth, "depth", at_least=1)
        state = self._current()
        scores = state.matching(where, state.table.scores(self._stems.of_query(query)))
        return [state.ids[place] for place in best_of(state.by_document(scores), depth).tolist()]

    def scores(self, queries: Sequence[str], where: Sequence[Where | None] | None = None) -> Iterator[Lexical]:
        """The scores of all documents, query by query. A document that can't be a hit has 0.

        These are documents without a token, and documents that do not match the query's filter.
        """
        state = self._current()
        snapshot, ids, places = state.snapshot, state.ids, state.places
        can_be_hit = snapshot.lengths[snapshot.live] > 0
        for query, one in zip(queries, where or [None] * len(queries), strict=True):
            scores = np.where(can_be_hit, state.table.scores(self._stems.of_query(query)), np.float32(0))
            yield Lexical(ids, places, state.by_document(state.matching(one, scores)))

    def _current(self) -> _State:
        snapshot = self._collection.index.storage.snapshot
        with self._guard:
            known = self._current_state
            if known is None or known.snapshot is not snapshot:
                path = current_table(self._collection.path, snapshot, self._stems.made_by)
                table = known.table if known and known.path == path else self._find_or_make(path, snapshot)
                known = self._current_state = _State(snapshot, path, table, self._collection.keys)
            return known

    def _find_or_make(self, path: Path, state: Snapshot) -> WordTable:
        table = find_table(path, len(state.live))
        if table is None:
            table = self._make(state)
            keep_table(path, table)
        return table

    def _make(self, state: Snapshot) -> WordTable:
        texts: list[str] = []
        for start in range(0, len(state.live), READ):
            positions = state.live[start : start + READ].tolist()
            records = zip(positions, state.metadata(positions), strict=True)
            texts += [check_record(record, state.ids[position])["text"] for position, record in records]
        return self._stems.table(texts)


@dataclass(frozen=True)
class _State:
    snapshot: Snapshot
    path: Path
    table: WordTable
    keys: Keys

    @cached_property
    def ids(self) -> list[Id]:
        """The ids of documents."""
        return list(self.places)

    @cached_property
    def places(self) -> dict[Id, int]:
        """The position of each document, in the order of their first passages."""
        documents = dict.fromkeys(map(self.keys.document, self.snapshot.live_ids()))
        return {one: place for place, one in enumerate(documents)}

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The position of each passage's document."""
        owners = (self.places[self.keys.document(key)] for key in self.snapshot.live_ids())
        return np.fromiter(owners, np.int64, len(self.snapshot.live))

    def matching(self, where: Where | None, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of passages, with 0 for those that do not match a filter."""
        if where is None:
            return scores
        return np.where(self.snapshot.matching(where)[self.snapshot.live], scores, np.float32(0))

    def by_document(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of documents: the best score among the passages of each."""
        if not self.keys.passages:
            return scores
        best = np.zeros(len(self.places), np.float32)
        np.maximum.at(best, self._owners, scores)
        return best


def ask_first_stage(stage: FirstStage, query: str, depth: int, where: Where | None, collection: Searchable) -> list[Id]:
    """The ``depth`` best candidates of a first stage, among the documents that match a filter.

    A function knows nothing of filters: it is asked for more candidates, until enough of them match or it has no more.
    """
    if where is None:
        return to_ids(stage(query, depth), "first_stage")
    if isinstance(stage, BM25):
        return stage(query, depth, where)
    keys, index, everything = collection.keys, collection.index, len(collection)
    asked = depth
    while True:
        named = list(dict.fromkeys(to_ids(stage(query, asked), "first_stage")))
        records = index.known_metadata(map(keys.key, named))
        # an unknown id stays, so that the search reports it
        kept = [one for one in named if (key := keys.key(one)) not in records or where.matches(records[key])]
        if len(kept) >= depth or len(named) < asked or asked >= everything:
            return kept[:depth]
        asked = min(asked * DEEPER, everything)


def verify_table(folder: Path, state: Snapshot) -> None:
    """Checks the table of a collection's present state, if there is one; `DamagedIndexError` names it."""
    try:
        stems = Stems()
    except ModuleNotFoundError:
        return  # without the extra, no table is used
    path = current_table(folder, state, stems.made_by)
    if path.is_symlink() or path.exists():
        WordTable.read(path, len(state.live))

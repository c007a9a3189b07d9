"""First stages: cheap methods that select candidates, among which late interaction then finds the best."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.ids import Id, to_ids
from maxsieve.index import Index
from maxsieve.options import NOT_GIVEN, FirstStage, PerQuery, SearchOptions
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.lexical.scores import Lexical, best_of
from maxsieve.text.lexical.stems import Stems
from maxsieve.text.lexical.word_table import WordTable, current_table, find_table, keep_table
from maxsieve.text.passages import Keys, first_records, read_records
from maxsieve.where import Where

DEEPER = 4
"""When too few candidates of a function match a filter, it is asked for this many times more."""


class BM25:
    """Okapi BM25 over the texts of a collection, by `bm25s` (extra ``maxsieve[text]``) with its defaults.

    Its table is stored in the collection's folder, and built again when the collection has changed. Words are runs of
    at least two letters or digits, in lower case, without English stop words, stemmed by the English Snowball stemmer
    (PyStemmer). A document that shares no word with the query is not a candidate. Words of other languages are stemmed
    in the same way in documents and queries, so they still match, but not in every form.
    """

    def __init__(self, path: Path, index: Index, keys: Keys) -> None:
        self._stems = Stems()
        self._path, self._index, self._keys = path, index, keys
        self._guard = threading.Lock()
        self._words: dict[Keys, _Words] = {}

    def __call__(self, query: str, depth: int) -> list[Id]:
        """Ids of the ``depth`` documents with the highest scores, best first; ties are broken by insertion order.

        A document in passages has the score of its best passage.
        """
        return self.best(query, depth, None, self._index.storage.snapshot, self._keys)

    def best(self, query: str, depth: int, where: Where | None, snapshot: AnySnapshot, keys: Keys) -> list[Id]:
        """The same for a version of the collection. Documents whose records do not match the filter are left out.

        ``keys`` are those of the collection, or its flat ones: then each passage is a document.
        """
        depth = as_count(depth, "depth", at_least=1)
        words = self._words_of(snapshot, keys)
        scores = words.matching(where, words.table.scores(self._stems.of_query(query)))
        return [words.ids[place] for place in best_of(words.by_document(scores), depth).tolist()]

    def scores(
        self,
        queries: Sequence[str],
        where: PerQuery[Where | None] = NOT_GIVEN,
        snapshot: AnySnapshot | None = None,
        keys: Keys | None = None,
    ) -> Iterator[Lexical]:
        """The scores of all documents in a snapshot or in the current one. A document that can't be a hit has 0.

        These are documents without a token, and documents whose records do not match the query's filter. ``keys`` are
        as in `best`.
        """
        words = self._words_of(snapshot or self._index.storage.snapshot, keys or self._keys)
        here = words.here
        can_be_hit = here.lengths[here.live] > 0
        for number, query in enumerate(queries):
            scores = np.where(can_be_hit, words.table.scores(self._stems.of_query(query)), np.float32(0))
            yield Lexical(words.ids, words.places, words.by_document(words.matching(where.of(number), scores)))

    def _words_of(self, snapshot: AnySnapshot, keys: Keys) -> _Words:
        with self._guard:
            known = next(iter(self._words.values()), None)
            if known is None or known.snapshot is not snapshot:
                here = snapshot.here
                path = current_table(self._path, here, self._stems.made_by)
                table = known.table if known and known.path == path else self._find_or_make(path, here)
                known = _Words(snapshot, path, table, keys, here)
                self._words = {keys: known}
            elif keys not in self._words:
                self._words[keys] = replace(known, keys=keys)
            return self._words[keys]

    def _find_or_make(self, path: Path, snapshot: Snapshot) -> WordTable:
        table = find_table(path, snapshot.n_documents)
        if table is None:
            table = self._make(snapshot)
            keep_table(path, table)
        return table

    def _make(self, snapshot: Snapshot) -> WordTable:
        records = read_records(snapshot, snapshot.live.tolist())
        return self._stems.table([record["text"] for _, record in records])


@dataclass(frozen=True)
class _Words:
    """The words of a version of a collection. Its table counts passages by position."""

    snapshot: AnySnapshot
    path: Path
    table: WordTable
    keys: Keys
    here: Snapshot = field(repr=False)

    @cached_property
    def ids(self) -> list[Id]:
        """The ids of documents."""
        return list(self.places)

    @cached_property
    def places(self) -> dict[Id, int]:
        """The place of each document, in the insertion order of their first passages."""
        documents = dict.fromkeys(map(self.keys.document, self.here.ids_in_order()))
        return {id: place for place, id in enumerate(documents)}

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The place of each passage's document."""
        owners = (self.places[self.keys.document(key)] for key in self.here.live_ids())
        return np.fromiter(owners, np.int64, len(self.here.live))

    def matching(self, where: Where | None, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of passages, with 0 for those that do not match a filter."""
        if where is None:
            return scores
        return np.where(self.here.matching(where)[self.here.live], scores, np.float32(0))

    def by_document(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of documents, in insertion order: the best score among the passages of each."""
        if not (self.keys.passages or self.here.layout.sequenced):
            return scores
        best = np.zeros(len(self.places), np.float32)
        np.maximum.at(best, self._owners, scores)
        return best


def first_candidates(
    stage: FirstStage | BM25, texts: Sequence[str], options: SearchOptions, keys: Keys, snapshot: AnySnapshot
) -> list[list[Id]]:
    """The ``depth`` best candidates of a first stage for each query, among the documents that match its filter.

    By passage, BM25 chooses passages; the documents that a function names have all their passages as candidates.
    """
    depth, units = options.depth, keys if options.by == "document" else keys.flat
    wheres = map(options.where.of, range(len(texts)))
    if isinstance(stage, BM25):
        return [stage.best(text, depth, where, snapshot, units) for text, where in zip(texts, wheres, strict=True)]
    named = [_ask(stage, text, depth, where, keys, snapshot) for text, where in zip(texts, wheres, strict=True)]
    return named if units is keys else [keys.of_all(ids, snapshot, "candidates") for ids in named]


def _ask(stage: FirstStage, text: str, depth: int, where: Where | None, keys: Keys, snapshot: AnySnapshot) -> list[Id]:
    """A function knows nothing of filters: it is asked for more candidates, until enough match or it has no more."""
    if where is None:
        return to_ids(stage(text, depth), "first_stage")
    asked, everything = depth, keys.count(snapshot)
    while True:
        named = list(dict.fromkeys(to_ids(stage(text, asked), "first_stage")))
        records = first_records(named, keys, snapshot)
        # an unknown id stays, so that the search reports it
        kept = [id for id in named if id not in records or where.matches(records[id])]
        if len(kept) >= depth or len(named) < asked or asked >= everything:
            return kept[:depth]
        asked = min(asked * DEEPER, everything)


def verify_table(folder: Path, snapshot: Snapshot) -> None:
    """Checks the table of a version of a collection, if there is one; `DamagedIndexError` names it."""
    try:
        stems = Stems()
    except ModuleNotFoundError:
        return  # without the extra, no table is used
    path = current_table(folder, snapshot, stems.made_by)
    if path.is_symlink() or path.exists():
        WordTable.read(path, snapshot.n_documents)

"""BM25 scores of all documents, to be combined with late interaction scores of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.hits import Hits
from maxsieve.ids import Id
from maxsieve.options import Candidates
from maxsieve.text.passages import Keys

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Answer(NamedTuple):
    """Documents and their scores by late interaction."""

    ids: list[Id]
    scores: F32

    @classmethod
    def of(cls, hits: Hits, keys: Keys) -> Answer:
        """Hits, by the ids of their documents."""
        return cls(list(map(keys.document, hits.ids)), hits.scores)


class Lexical(NamedTuple):
    """BM25 scores of all documents, in insertion order: 0 for a document that may not be a hit."""

    ids: Sequence[Id]
    places: Mapping[Id, int]
    scores: F32

    def among(self, candidates: Candidates, exclude: list[Id] | None) -> Lexical:
        """The scores for a query with candidates or excluded ids: all other documents get 0.

        >>> words = Lexical(["a", "b", "c"], {"a": 0, "b": 1, "c": 2}, np.float32([1, 2, 3]))
        >>> words.among(["a", "c"], ["c"]).scores.tolist()
        [1.0, 0.0, 0.0]
        """
        if candidates is None and not exclude:
            return self
        allowed = np.ones(len(self.scores), np.bool_)
        if candidates is not None:
            allowed[:] = False
            allowed[self._find(candidates) if isinstance(candidates, list) else candidates] = True
        allowed[self._find(exclude or [])] = False
        return self._replace(scores=np.where(allowed, self.scores, np.float32(0)))

    def only(self, places: I64) -> Lexical:
        """Only the documents at these positions, which ascend."""
        ids = [self.ids[place] for place in places.tolist()]
        return Lexical(ids, {id: place for place, id in enumerate(ids)}, self.scores[places])

    def scored(self, answer: Answer) -> Scored:
        """An answer of late interaction, with positions for ids."""
        return Scored(self._find(answer.ids), answer.scores)

    def _find(self, ids: list[Id]) -> I64:
        return np.fromiter((self.places[id] for id in ids), np.int64, len(ids))


class Scored(NamedTuple):
    """Documents, as positions in insertion order, with their late interaction scores."""

    places: I64
    scores: F32


def best_of(scores: F32, depth: int) -> I64:
    """The positions of the ``depth`` best scores above 0, best first; ties are broken by position.

    >>> best_of(np.float32([1, 0, 2, 1]), 2).tolist()
    [2, 0]
    """
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")[:depth]]

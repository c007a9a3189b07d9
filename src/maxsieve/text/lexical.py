"""What BM25 says of every document, so that it can be laid beside what late interaction says of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.candidates import Candidates
from maxsieve.ids import Id

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Answer(Protocol):
    """Documents that late interaction found, best first."""

    @property
    def ids(self) -> list[Id]:
        """Their ids."""

    @property
    def scores(self) -> F32:
        """Their scores."""


class Lexical(NamedTuple):
    """What BM25 says of every document, in the order they were added: 0 for one that may not be a hit."""

    ids: Sequence[Id]
    places: Mapping[Id, int]
    scores: F32

    def among(self, candidates: Candidates, exclude: list[Id] | None) -> Lexical:
        """The same for a query that may not find everything.

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
        """Some of the documents, ascending."""
        ids = [self.ids[place] for place in places.tolist()]
        return Lexical(ids, {one: place for place, one in enumerate(ids)}, self.scores[places])

    def scored(self, answer: Answer) -> Scored:
        """An answer of late interaction, by places."""
        return Scored(self._find(answer.ids), answer.scores)

    def _find(self, ids: list[Id]) -> I64:
        return np.fromiter((self.places[one] for one in ids), np.int64, len(ids))


class Scored(NamedTuple):
    """Documents, by their places in the order they were added, with their scores by late interaction."""

    places: I64
    scores: F32


def best_of(scores: F32, depth: int) -> I64:
    """The places of the ``depth`` best scores above 0, best first; of equals, the first.

    >>> best_of(np.float32([1, 0, 2, 1]), 2).tolist()
    [2, 0]
    """
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")[:depth]]

"""The result of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.common.checks import as_count
from maxsieve.ids import Id
from maxsieve.storage.calibration import Changes, Origin
from maxsieve.storage.snapshot import Snapshot
from maxsieve.trace import Trace, to_trace

Guarantee: TypeAlias = Literal["exact", "pac", "calibrated", "none"]


class Round(NamedTuple):
    """One round of a sieve: the active documents, the query tokens revealed after it, and the threshold."""

    active: int
    revealed: int
    threshold: float


class Match(NamedTuple):
    """A query token, the document token most similar to it, and how similar."""

    query_token: int
    document_token: int
    similarity: float


@dataclass(frozen=True)
class Report:
    """How an answer was found and what it guarantees.

    guarantee
        ``"exact"``: the answer is the exhaustive one; ``"pac"``: it is with probability at least 1 - delta;
        ``"calibrated"``: it contains the guaranteed share of it on average (`Calibrated`); ``"none"``.
    coverage
        cells revealed as proxies over all cells.
    survivors
        documents that passed tier 0 of `Calibrated`; for other policies, all candidates.
    rescored
        documents scored canonically.
    rounds
        the sieve's rounds, in order.
    isa
        the kernel that ran.
    seconds, stages
        how long the search took, and each part of it.
    calibrated_on
        what the index was calibrated on, ``"queries"`` or ``"own sentences"``; None for other policies.
    added, deleted
        documents added and deleted since the calibration.
    missing
        shards that the answer does not cover: only a search over shards that may be partial has any, and it guarantees
        nothing.
    """

    guarantee: Guarantee
    coverage: float
    survivors: int
    rescored: int
    rounds: list[Round]
    isa: str
    seconds: float
    stages: dict[str, float]
    calibrated_on: Origin | None = None
    added: int = 0
    deleted: int = 0
    missing: tuple[int, ...] = ()


class Promise(NamedTuple):
    """The guarantee of `Calibrated` for an answer that is not exact, and what the index was calibrated on."""

    guarantee: Literal["calibrated", "none"]
    calibrated_on: Origin
    changes: Changes


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """The best documents, best first; iterates as ``(id, score)``.

    They can be pickled. Then report, metadata and explanations of all hits are computed and included; the index is not.

    >>> import numpy as np, maxsieve as ms
    >>> index = ms.Index.build([np.eye(2), -np.eye(2)], ["yes", "no"])
    >>> hits = index.search(np.eye(2), k=1)
    >>> list(hits)
    [('yes', 2.0)]
    """

    ids: list[Id]
    scores: NDArray[np.float32]
    _positions: list[int]
    _answer: _core.Answer
    snapshot: Snapshot
    _query: NDArray[np.float32]
    _promise: Promise | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all that hits can return, computed now."""
        found = (name for name, kind in vars(Hits).items() if isinstance(kind, cached_property))
        return {"ids": self.ids, "scores": self.scores} | {name: getattr(self, name) for name in found}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            why = ": these hits were pickled, and their index was not" if name in _AT_HOME else ""
            raise AttributeError(f"Hits has no attribute {name!r}{why}")

    def __copy__(self) -> Hits:
        other = object.__new__(Hits)
        other.__dict__.update(vars(self), ids=list(self.ids), scores=self.scores.copy())
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Hits:
        return copy(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Id, float]]:
        return zip(self.ids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"Hits({list(self)!r}, guarantee={self.report.guarantee!r})"

    @cached_property
    def query_tokens(self) -> int:
        """How many tokens the query has. A score divided by it is the mean similarity per token."""
        return len(self._query)

    @cached_property
    def report(self) -> Report:
        """How the answer was found and what it guarantees; created on first use."""
        answer, promise = self._answer, self._promise
        guarantee: Guarantee = answer.guarantee
        if promise is not None and guarantee != "exact":
            guarantee = promise.guarantee
        return Report(
            guarantee,
            answer.coverage,
            answer.survivors,
            answer.rescored,
            [Round(*one) for one in answer.rounds],
            answer.isa,
            answer.seconds,
            answer.stages,
            *(() if promise is None else (promise.calibrated_on, *promise.changes)),
        )

    @cached_property
    def trace(self) -> Trace | None:
        """The steps of the search, if ``trace=True`` was given; None otherwise.

        >>> import numpy as np, maxsieve as ms
        >>> index = ms.Index.build([np.eye(2), -np.eye(2)], ["yes", "no"])
        >>> index.search(np.eye(2), k=1).trace is None
        True
        >>> index.search(np.eye(2), k=1, policy=ms.Exhaustive(), trace=True).trace
        <maxsieve.Trace of Exhaustive: 2 of 2 documents, rounds: 0>
        """
        traced = self._answer.trace
        return None if traced is None else to_trace(traced, self.snapshot, self._positions)

    @cached_property
    def metadata(self) -> list[Any]:
        """The metadata of the hits, None for those without; read on first use.

        >>> import maxsieve as ms
        >>> index = ms.Index.build([[[1.0]], [[2.0]]], metadata=["one", {"two": 2}])
        >>> index.search([[1.0]]).metadata
        [{'two': 2}, 'one']
        """
        return self.snapshot.metadata(self._positions)

    def reordered(self, ranks: Sequence[int], scores: NDArray[np.float32]) -> Hits:
        """The hits at these ranks, in that order, with other scores.

        >>> import maxsieve as ms
        >>> hits = ms.Index.build([[[1.0]], [[2.0]]], ["one", "two"]).search([[1.0]])
        >>> list(hits), list(hits.reordered([1, 0], np.float32([0.75, 0.5])))
        ([('two', 2.0), ('one', 1.0)], [('one', 0.75), ('two', 0.5)])
        """
        ids, positions = [self.ids[rank] for rank in ranks], [self._positions[rank] for rank in ranks]
        return replace(self, ids=ids, scores=scores, _positions=positions)

    def explain(self, rank: int) -> list[Match]:
        """Explains the hit at ``rank`` (from 0): each query token's best document token and its similarity.

        The similarities add up to the hit's score. Of equally similar document tokens, the first is given.

        >>> import numpy as np, maxsieve as ms
        >>> ms.rerank(np.eye(2), [2 * np.eye(2)]).explain(0)
        [Match(query_token=0, document_token=0, similarity=2.0), Match(query_token=1, document_token=1, similarity=2.0)]
        """
        rank = as_count(rank, "rank", at_least=0)
        if rank >= len(self):
            raise ValueError(f"rank must be below the number of hits, {len(self)}, not {rank}")
        tokens, similarities = self._matches[rank] if "_matches" in vars(self) else self._match(rank)
        pairs = zip(tokens.tolist(), similarities.tolist(), strict=True)
        return [Match(t, j, similarity) for t, (j, similarity) in enumerate(pairs)]

    def _match(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return _core.explain(self.snapshot.corpus, self._query, self._positions[rank])

    @cached_property
    def _matches(self) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        return [self._match(rank) for rank in range(len(self))]


_AT_HOME = {field.name for field in fields(Hits)}


def to_hits(
    answer: _core.Answer,
    state: Snapshot,
    query: NDArray[np.float32],
    promise: Promise | None = None,
    places: list[int] | None = None,
) -> Hits:
    """The engine's answer as `Hits`, or only the entries at these places."""
    positions, scores = answer.positions, answer.scores
    if places is not None:
        positions, scores = [positions[place] for place in places], scores[places]
    return Hits(state.ids_at(positions), scores, positions, answer, state, query, promise)

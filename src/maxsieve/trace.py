"""The trace: the steps of a search, recorded on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot

BY_TIER_0 = -1
"""The value in `Trace.dropped` of documents that tier 0 of `Calibrated` dropped."""


class TracedRound(NamedTuple):
    """One round of a sieve.

    active, dropped
        the number of active documents, shown or not, and how many of them it dropped.
    revealed
        query tokens that were revealed for them after the round.
    threshold
        tau, the K-th largest lower bound: a document whose upper bound is below it is dropped.
    lower, upper
        the interval of each document that is shown; NaN for those that were not active.
    """

    active: int
    dropped: int
    revealed: int
    threshold: float
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Unseen(NamedTuple):
    """The first document, in best-first order, that was not rescored: its score can't be above ``upper``."""

    id: Id
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The steps of a search, as recorded by the engine: tier 0, then rounds that drop documents, then rescoring.

    `Certified` has one round, in which all query tokens are revealed: the proxies with their errors. `Calibrated` has
    tier 0 before that, `Bandit` has many rounds, `Exhaustive` has none. If every candidate is a hit, no sieve is
    needed, and all are rescored.

    Up to a few thousand documents, all are shown. If there are more, the hits, the rescored documents (if they are not
    too many) and a sample with a fixed seed are shown: then ``sampled`` is true. Rounds, counts and bytes are always
    about all documents.

    In an index with ``group_by``, and so in a `Collection` of passages, documents are passages. The engine searches for
    more than k of them, so that they contain k groups. If that took several attempts, the trace is that of the last.

    policy, k
        the policy that ran, and how many documents it searched for.
    documents
        how many documents were searched.
    ids
        ids of the documents that are shown. Places, below, are positions in this list.
    hits
        the places of the hits, best first.
    token_order
        the query's tokens in the order in which they are revealed.
    tier0
        the proxies of tier 0; None if it did not run.
    rounds
        the rounds of the sieve.
    dropped
        the number of the round, from 1, that dropped each document; 0 if none did; or `BY_TIER_0`.
    rescored, scores, thresholds
        the places of documents that were rescored, in that order; their canonical scores; the K-th best score known
        after each (-inf before there are K).
    unseen
        the document at which best-first rescoring stopped, if it did.
    bytes_read, bytes_of_all
        bytes of codes, vectors and centroids that each stage read; and the bytes of all vectors, which exhaustive
        scoring reads.

    >>> import numpy as np, maxsieve as ms
    >>> index = ms.Index.build([np.eye(2) * size for size in (1, 3, 2)], ["small", "large", "middle"])
    >>> trace = index.search(np.eye(2), k=1, trace=True).trace
    >>> trace.ids, trace.dropped.tolist(), [trace.ids[place] for place in trace.rescored]
    (['small', 'large', 'middle'], [1, 0, 1], ['large'])
    >>> trace.unseen.id, bool(trace.unseen.upper < trace.thresholds[-1])
    ('middle', True)
    """

    policy: str
    k: int
    documents: int
    ids: list[Id]
    hits: NDArray[np.int64]
    token_order: NDArray[np.int64]
    tier0: NDArray[np.int32] | None
    rounds: list[TracedRound]
    dropped: NDArray[np.int32]
    rescored: NDArray[np.int64]
    scores: NDArray[np.float32]
    thresholds: NDArray[np.float64]
    unseen: Unseen | None
    bytes_read: dict[str, int]
    bytes_of_all: int

    @property
    def shown(self) -> int:
        """How many documents are shown."""
        return len(self.ids)

    @property
    def sampled(self) -> bool:
        """Whether only some of the documents are shown."""
        return self.shown < self.documents

    @property
    def revealed(self) -> NDArray[np.int64]:
        """How many query tokens, in `token_order`, were revealed for each document that is shown.

        >>> import numpy as np, maxsieve as ms
        >>> index = ms.Index.build([np.eye(2) * size for size in (1, 3, 2)])
        >>> index.search(np.eye(2), k=1, trace=True).trace.revealed.tolist()
        [2, 2, 2]
        """
        after = np.array([0, *(traced.revealed for traced in self.rounds)], np.int64)
        last = np.where(self.dropped == 0, len(self.rounds), np.maximum(self.dropped, 0))
        return after[last]

    def __repr__(self) -> str:
        return (
            f"<maxsieve.Trace of {self.policy}: {self.shown} of {self.documents} documents, rounds: {len(self.rounds)}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-compatible values: lists for arrays, None for numbers that are not finite.

        >>> import json, maxsieve as ms
        >>> trace = ms.Index.build([[[1.0]], [[2.0]]]).search([[1.0]], k=1, trace=True).trace
        >>> read = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
        >>> read["documents"], read["scores"], read["unseen"]["id"]
        (2, [2.0], 0)
        """
        return {
            "policy": self.policy,
            "k": self.k,
            "documents": self.documents,
            "shown": self.shown,
            "sampled": self.sampled,
            "ids": list(self.ids),
            "hits": self.hits.tolist(),
            "token_order": self.token_order.tolist(),
            "tier0": None if self.tier0 is None else self.tier0.tolist(),
            "rounds": [
                {
                    "active": traced.active,
                    "dropped": traced.dropped,
                    "revealed": traced.revealed,
                    "threshold": _finite(traced.threshold),
                    "lower": _all_finite(traced.lower.tolist()),
                    "upper": _all_finite(traced.upper.tolist()),
                }
                for traced in self.rounds
            ],
            "dropped": self.dropped.tolist(),
            "revealed": self.revealed.tolist(),
            "rescored": self.rescored.tolist(),
            "scores": _all_finite(self.scores.tolist()),
            "thresholds": _all_finite(self.thresholds.tolist()),
            "unseen": None if self.unseen is None else self.unseen._asdict(),
            "bytes_read": dict(self.bytes_read),
            "bytes_of_all": self.bytes_of_all,
        }


def to_trace(native: _core.Trace, state: Snapshot, hits: Sequence[int]) -> Trace:
    """The engine's trace with the ids of a state; ``hits`` are positions."""
    shown, tier0, unseen = native.shown, native.tier0, native.unseen
    found = np.array(hits, np.int64)
    places = np.searchsorted(shown, found)
    known = shown[np.minimum(places, len(shown) - 1)] == found if len(shown) else np.zeros(len(found), np.bool_)
    return Trace(
        policy=native.policy,
        k=native.k,
        documents=native.documents,
        ids=state.ids_at(shown.tolist()),
        hits=places[known],
        token_order=native.tokens,
        tier0=tier0 if len(tier0) else None,
        rounds=[TracedRound(*traced) for traced in native.rounds],
        dropped=native.dropped,
        rescored=native.rescored,
        scores=native.scores,
        thresholds=native.thresholds,
        unseen=None if unseen is None else Unseen(state.ids_at([unseen[0]])[0], unseen[1]),
        bytes_read=native.bytes,
        bytes_of_all=native.bytes_of_all,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _all_finite(numbers: list[float]) -> list[float | None]:
    return [_finite(number) for number in numbers]

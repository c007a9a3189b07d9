"""The result of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.common.printable import table
from maxsieve.ids import Id
from maxsieve.storage.calibration import Changes, Origin
from maxsieve.storage.storage import AnySnapshot
from maxsieve.trace import Trace

Guarantee: TypeAlias = Literal["exact", "pac", "calibrated", "calibrated on sentences", "none"]


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
        ``"calibrated"``: it contains the guaranteed share of it on average (`Calibrated`); ``"calibrated on
        sentences"``: this is so for queries that are sentences of the documents; ``"none"``.
    coverage
        cells revealed as proxies over all cells.
    survivors
        documents that `Calibrated` followed up; for other policies, all candidates.
    rescored
        documents scored canonically.
    rounds
        the sieve's rounds, in order.
    isa
        the kernel that ran.
    seconds, stages
        how long the search took, and each part of it.
    touched
        what `Calibrated` has read: ``centroids`` compared, ``lists`` and ``postings`` read, and ``tokens`` of the
        survivors; empty for other policies.
    calibrated_on
        what the index was calibrated on, ``"queries"`` or ``"own sentences"``; None for other policies.
    added, deleted
        documents added and deleted since the calibration.
    calibrated_for
        the filter that the guarantee of `Calibrated` is for; None if it is for searches of all documents.
    missing
        shards that the answer does not cover: only a search over shards that may be partial has any, and it guarantees
        nothing.
    members, agreements
        how many members of a cluster took part, and how often they agreed on numbers about all documents.
    retried, hedged
        parts of the search that another member was asked for, because the first failed or was late.
    """

    guarantee: Guarantee
    coverage: float
    survivors: int
    rescored: int
    rounds: list[Round]
    isa: str
    seconds: float
    stages: dict[str, float]
    touched: dict[str, int] = field(default_factory=dict)
    calibrated_on: Origin | None = None
    added: int = 0
    deleted: int = 0
    calibrated_for: Any = None
    missing: tuple[int, ...] = ()
    members: int = 1
    agreements: int = 0
    retried: int = 0
    hedged: int = 0

    def _repr_html_(self) -> str:
        facts = {
            "guarantee": self.guarantee,
            "coverage": f"{self.coverage:.3f}",
            "survivors": f"{self.survivors:,}",
            "rescored": f"{self.rescored:,}",
            "milliseconds": f"{1000 * self.seconds:.2f}",
            "kernel": self.isa,
        }
        return table(["report", ""], facts.items())


class Promise(NamedTuple):
    """The guarantee of `Calibrated` for an answer that is not exact, and what the index was calibrated on."""

    guarantee: Literal["calibrated", "none"]
    calibrated_on: Origin
    changes: Changes
    where: Any = None


def to_guarantee(found: Guarantee, promise: Promise | None) -> Guarantee:
    """What an answer guarantees: what the engine proved, or what a calibration promises."""
    if promise is None or found == "exact":
        return found
    on_sentences = promise.guarantee == "calibrated" and promise.calibrated_on == "own sentences"
    return "calibrated on sentences" if on_sentences else promise.guarantee


class Ranking(Protocol):
    """The best documents for one query, best first, and how they were found."""

    @property
    def ids(self) -> list[Id]:
        """Their ids."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """Their scores."""

    @property
    def places(self) -> list[Any]:
        """Where they are in the snapshot."""

    @property
    def n_searched(self) -> int:
        """The number of documents that were searched."""

    def report(self, promise: Promise | None) -> Report:
        """How they were found, and what is guaranteed."""

    def trace(self, chosen: Sequence[int] | None) -> Trace | None:
        """The steps of the search, if they were recorded. Only the entries with these numbers are hits, or all."""


class Hit(tuple[Id, float]):
    """One document that was found. It unpacks as ``(id, score)``.

    >>> import maxsieve as ms
    >>> hit = ms.Index.build([[[1.0]]], ["a"], metadata=[{"title": "Alpha"}]).search([[2.0]])[0]
    >>> hit.id, hit.score, hit.metadata
    ('a', 2.0, {'title': 'Alpha'})
    """

    _hits: Hits
    rank: int
    """Its place in the list, from 0."""

    def __new__(cls, hits: Hits, rank: int) -> Hit:
        """The hit at a rank."""
        self = super().__new__(cls, (hits.ids[rank], float(hits.scores[rank])))
        self._hits, self.rank = hits, rank
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._hits, self.rank)

    @property
    def id(self) -> Id:
        """The id of the document."""
        return self[0]

    @property
    def score(self) -> float:
        """Its score."""
        return self[1]

    @property
    def metadata(self) -> Any:
        """Its metadata, or None."""
        return self._hits.metadata[self.rank]

    @property
    def text(self) -> str | None:
        """Its text; None if the index stores no texts."""
        return self._hits.texts[self.rank]

    def explain(self) -> list[Any]:
        """`Hits.explain` of this hit."""
        return self._hits.explain(self.rank)


@dataclass(frozen=True, eq=False, repr=False)
class Hits(Sequence[Hit]):
    """The best documents, best first. ``hits[0]`` is the best; each hit unpacks as ``(id, score)``.

    They can be pickled. Then report, metadata and explanations of all hits are computed and included; the index is not.

    >>> import numpy as np, maxsieve as ms
    >>> index = ms.Index.build([np.eye(2), -np.eye(2)], ["yes", "no"])
    >>> hits = index.search(np.eye(2), k=2)
    >>> list(hits)
    [('yes', 2.0), ('no', 0.0)]
    >>> hits[0].id, hits[:1].ids
    ('yes', ['yes'])
    """

    ids: list[Id]
    scores: NDArray[np.float32]
    _query: NDArray[np.float32]
    _snapshot: AnySnapshot
    _ranking: Ranking
    _entries: Sequence[int] | None = None
    """Which entries of the ranking are hits; None: all."""
    _promise: Promise | None = None
    _at_home: ClassVar[frozenset[str]] = frozenset({"_query", "_snapshot", "_ranking", "_entries", "_promise"})
    """What hits have only in the process that searched."""

    @classmethod
    def of(
        cls,
        snapshot: AnySnapshot,
        ranking: Ranking,
        entries: Sequence[int] | None,
        query: NDArray[np.float32],
        promise: Promise | None,
    ) -> Hits:
        """The documents of a ranking, or only these entries of it."""
        ids, scores = ranking.ids, ranking.scores
        if entries is not None:
            ids, scores = [ids[entry] for entry in entries], scores[list(entries)]
        hits = object.__new__(cls)
        hits.__dict__.update(  # in half of the time of a frozen dataclass's constructor
            ids=ids,
            scores=scores,
            _query=query,
            _snapshot=snapshot,
            _ranking=ranking,
            _entries=entries,
            _promise=promise,
        )
        return hits

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all that hits can return, computed now."""
        kinds = {name: kind for base in reversed(type(self).__mro__) for name, kind in vars(base).items()}
        found = (name for name, kind in kinds.items() if isinstance(kind, cached_property))
        kept = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in self._left()}
        return kept | {name: getattr(self, name) for name in found}

    @classmethod
    def _left(cls) -> set[str]:
        return {name for base in cls.__mro__ for name in vars(base).get("_at_home", ())}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            why = ": these hits were pickled, and their index was not" if name in self._left() else ""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{why}")

    def __copy__(self) -> Hits:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), ids=list(self.ids), scores=self.scores.copy())
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Hits:
        return copy(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hit]:
        return map(self._hit, range(len(self)))

    @overload
    def __getitem__(self, rank: int) -> Hit: ...

    @overload
    def __getitem__(self, rank: slice) -> Hits: ...

    def __getitem__(self, rank: int | slice) -> Hit | Hits:
        """The hit at a rank, from 0; or the hits of a slice."""
        if isinstance(rank, slice):
            ranks = range(*rank.indices(len(self)))
            return self.reordered(ranks, self.scores[rank])
        place = range(len(self))[rank]
        return self._hit(place)

    def _hit(self, rank: int) -> Hit:
        return Hit(self, rank)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r}, guarantee={self.report.guarantee!r})"

    def _repr_html_(self) -> str:
        rows = ((rank, *hit) for rank, hit in enumerate(self))
        return table(["", "id", "score"], rows, caption=f"guarantee: {self.report.guarantee}")

    @cached_property
    def query_tokens(self) -> int:
        """How many tokens the query has. A score divided by it is the mean similarity per token."""
        return len(self._query)

    @cached_property
    def report(self) -> Report:
        """How the answer was found and what it guarantees; created on first use."""
        return self._ranking.report(self._promise)

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
        return self._ranking.trace(self._entries)

    @cached_property
    def metadata(self) -> list[Any]:
        """The metadata of the hits, None for those without; read on first use.

        >>> import maxsieve as ms
        >>> index = ms.Index.build([[[1.0]], [[2.0]]], metadata=["one", {"two": 2}])
        >>> index.search([[1.0]]).metadata
        [{'two': 2}, 'one']
        """
        return self._snapshot.metadata(self._places)

    @property
    def texts(self) -> Sequence[str | None]:
        """The texts of the hits: None for each, because an index stores no texts. A `Collection` does."""
        return [None] * len(self)

    def reordered(self, ranks: Sequence[int], scores: NDArray[np.float32]) -> Hits:
        """The hits at these ranks, in that order, with other scores."""
        if "_ranking" not in vars(self):  # they were pickled: every list has one entry for each hit
            other = object.__new__(type(self))
            lists = {name: values for name, values in vars(self).items() if isinstance(values, list)}
            chosen = {name: [values[rank] for rank in ranks] for name, values in lists.items()}
            other.__dict__.update(vars(self), **chosen, scores=scores)
            return other
        entries = range(len(self)) if self._entries is None else self._entries
        return replace(
            self, ids=[self.ids[rank] for rank in ranks], scores=scores, _entries=[entries[rank] for rank in ranks]
        )

    def explain(self, rank: int) -> list[Match]:
        """Explains the hit at ``rank`` (from 0): each query token's best document token and its similarity.

        The similarities add up to the hit's score. Of equally similar document tokens, the first is given.

        >>> import numpy as np, maxsieve as ms
        >>> ms.rerank(np.eye(2), [2 * np.eye(2)]).explain(0)
        [Match(query_token=0, document_token=0, similarity=2.0), Match(query_token=1, document_token=1, similarity=2.0)]
        """
        rank = self._check_rank(rank)
        tokens, similarities = self._matches[rank] if "_matches" in vars(self) else self._match(self._places[rank])
        pairs = zip(tokens.tolist(), similarities.tolist(), strict=True)
        return [Match(t, j, similarity) for t, (j, similarity) in enumerate(pairs)]

    def _check_rank(self, rank: int) -> int:
        rank = as_count(rank, "rank", at_least=0)
        if rank >= len(self):
            raise ValueError(f"rank must be below the number of hits, {len(self)}, not {rank}")
        return rank

    @property
    def _places(self) -> list[Any]:
        places = self._ranking.places
        return places if self._entries is None else [places[entry] for entry in self._entries]

    def _match(self, place: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return self._snapshot.explain(self._query, place)

    @cached_property
    def _matches(self) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        return [self._match(place) for place in self._places]

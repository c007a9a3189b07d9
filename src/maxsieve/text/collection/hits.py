"""The result of a text search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.errors import DamagedIndexError
from maxsieve.hits import Match, Report
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.collection.words import WordMatch, match_words
from maxsieve.text.encoders.encoder import Encoder, Traceable
from maxsieve.text.lexical.fusion import Hybrid
from maxsieve.text.passages import Keys, Passage, check_record, to_passage
from maxsieve.trace import Trace


class IndexHits(Protocol):
    """The hits of an index, in one piece or in shards: passages by their keys."""

    @property
    def ids(self) -> list[Id]:
        """The keys of the passages."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """Their scores."""

    @property
    def query_tokens(self) -> int:
        """How many tokens the query has."""

    @property
    def report(self) -> Report:
        """How the answer was found."""

    @property
    def trace(self) -> Trace | None:
        """The steps of the search."""

    @property
    def snapshot(self) -> Snapshot:
        """The state that was searched."""

    @property
    def metadata(self) -> list[Any]:
        """The records of the passages."""

    def __len__(self) -> int: ...

    def explain(self, rank: int) -> list[Match]:
        """Each query token's best token of a passage."""

    def reordered(self, ranks: Sequence[int], scores: NDArray[np.float32]) -> IndexHits:
        """The hits at some ranks, under other scores."""


class TextHit(NamedTuple):
    """One document that was found. ``text`` is its best passage, which may be the whole document."""

    id: Id
    score: float
    text: str
    metadata: Any
    passage: Passage


class HybridScores(NamedTuple):
    """How BM25 and late interaction were fused, and the scores of the hits by each.

    fusion
        ``"rrf"``, or the weight of BM25 (`maxsieve.text.lexical.fusion` has the formulas).
    depth
        how many best documents of each were used.
    late, bm25
        the hits' scores by late interaction and by BM25, in the order of the hits.
    """

    fusion: Hybrid
    depth: int
    late: NDArray[np.float32]
    bm25: NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class TextHits:
    """The best documents for a text, best first; iterates as ``(id, score)``.

    They can be pickled. Then texts, metadata and explanations of all hits are computed and included; the collection is
    not.

    query
        the text of the query; empty if the query was given as vectors.
    encode_seconds, search_seconds
        time to encode the query, and to find the hits, including the first stage. For many queries at once, each
        query's share.
    scope
        ``"all"``: what the report guarantees holds among all documents; ``"matching"``: among those that match the
        filter; ``"candidates"``: among the candidates that were given or that the first stage chose, and that match.
    first_stage, depth
        the first stage (``"bm25"``, ``"a function"``) and how many candidates it was asked for; None without one.
    hybrid
        how BM25 was combined, and the scores that were fused; None without BM25. The guarantee is then about the fused
        scores.
    where
        the filter that the documents had to match; None without one.
    """

    query: str
    encode_seconds: float
    search_seconds: float
    scope: Literal["all", "matching", "candidates"]
    _count: Callable[[], int]
    _hits: IndexHits
    _encoder: Encoder
    _keys: Keys
    first_stage: str | None = None
    depth: int | None = None
    hybrid: HybridScores | None = None
    where: Any = None
    _report: Report | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all that hits can return, computed now."""
        home = {"_count", "_encoder"}
        kept = {name: getattr(self, name) for name in (one.name for one in fields(self)) if name not in home}
        found = (name for name, kind in vars(TextHits).items() if isinstance(kind, cached_property))
        return kept | {name: getattr(self, name) for name in found}

    def __copy__(self) -> TextHits:
        other = object.__new__(TextHits)
        other.__dict__.update(vars(self), _hits=copy(self._hits))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> TextHits:
        return copy(self)

    @cached_property
    def documents(self) -> int:
        """How many documents were searched."""
        return self._count()

    @cached_property
    def has_passages(self) -> bool:
        """Whether any document of the collection has several passages: then the report counts passages."""
        return self._keys.count(self.snapshot) < len(self.snapshot.live)

    @cached_property
    def ids(self) -> list[Id]:
        """The hits' ids."""
        return [self._keys.document(key) for key in self._hits.ids]

    @property
    def scores(self) -> NDArray[np.float32]:
        """The hits' scores, exact: by late interaction, or fused in a hybrid search."""
        return self._hits.scores

    @property
    def query_tokens(self) -> int:
        """How many tokens the query has. A late interaction score divided by it is the mean similarity per token."""
        return self._hits.query_tokens

    @property
    def report(self) -> Report:
        """How the engine found the answer and what it guarantees, within the `scope`."""
        return self._report or self._hits.report

    @property
    def trace(self) -> Trace | None:
        """The steps of the search, if ``trace=True`` was given. Its ids are the keys of passages.

        A key is the id of the document; ``id#p1``, ``id#p2`` and so on are further passages of a long one
        (`maxsieve.text.passages`).
        """
        return self._hits.trace

    @property
    def snapshot(self) -> Snapshot:
        """The state of the index that was searched."""
        return self._hits.snapshot

    @property
    def texts(self) -> list[str]:
        """The texts of the hits' passages."""
        return [record["text"] for record in self._records]

    @property
    def passages(self) -> list[Passage]:
        """The passage by which each hit was found: the best of its document."""
        return [self._passage(rank) for rank in range(len(self))]

    def _passage(self, rank: int) -> Passage:
        return to_passage(self._records[rank], self._keys.parse(self._hits.ids[rank])[1])

    @property
    def metadata(self) -> list[Any]:
        """The metadata of the hits; None for a hit without metadata."""
        return [record["metadata"] for record in self._records]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[tuple[Id, float]]:
        return zip(self.ids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"TextHits({list(self)!r}, guarantee={self.report.guarantee!r}, scope={self.scope!r})"

    def hit(self, rank: int) -> TextHit:
        """The hit at ``rank``, from 0, with its text and metadata."""
        rank = self._check_rank(rank)
        passage, metadata = self._passage(rank), self._records[rank]["metadata"]
        return TextHit(self.ids[rank], float(self.scores[rank]), passage.text, metadata, passage)

    def explain(self, rank: int) -> list[WordMatch]:
        """For each word of the query, the best matching word of the hit at ``rank``, and their similarity.

        Offsets are counted in the text of the passage. For a match in the headings above the passage, ``start`` and
        ``end`` are 0. If the query was given as vectors, ``query_start`` is the number of the vector. Empty if the
        encoder does not know which characters a vector belongs to (it is not `Traceable`).
        """
        rank = self._check_rank(rank)
        return list(self._words[rank]) if "_words" in vars(self) else self._explain(rank)

    @cached_property
    def _words(self) -> list[list[WordMatch]]:
        return [self._explain(rank) for rank in range(len(self))]

    def _explain(self, rank: int) -> list[WordMatch]:
        if not isinstance(self._encoder, Traceable):
            return []
        passage = self._passage(rank)
        matches = self._hits.explain(rank)
        asked = self._encoder.query_spans(self.query) if self.query else [(t, t) for t in range(len(matches))]
        spans = asked, self._encoder.document_spans(passage.encoded)
        if any(one.document_token >= len(spans[1]) for one in matches):
            raise DamagedIndexError(f"the text of {self.ids[rank]!r} is not the text that its vectors were made from")
        words = match_words(self.query, spans[0], passage.encoded, spans[1], matches)
        return [word.moved(-len(passage.context)) for word in words]

    @cached_property
    def _records(self) -> list[Any]:
        return [*map(check_record, self._hits.metadata, self._hits.ids)]

    def _check_rank(self, rank: int) -> int:
        rank = as_count(rank, "rank", at_least=0)
        if rank >= len(self):
            raise ValueError(f"rank must be below the number of hits, {len(self)}, not {rank}")
        return rank

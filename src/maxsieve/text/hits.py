"""What a search for text returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.errors import DamagedIndexError
from maxsieve.hits import Hits, Report
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.encoder import Encoder, Traceable
from maxsieve.text.fusion import Hybrid
from maxsieve.text.passages import Keys, Passage, check_record, to_passage
from maxsieve.text.words import WordMatch, match_words


class TextHit(NamedTuple):
    """One document that was found, by its best passage. ``text`` is that passage's, which may be all there is."""

    id: Id
    score: float
    text: str
    metadata: Any
    passage: Passage


class HybridScores(NamedTuple):
    """How BM25 and late interaction were fused, and what each said of the hits.

    fusion
        ``"rrf"``, or the weight of BM25 (`maxsieve.text.fusion` has the formulas).
    depth
        how many documents each named.
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

    They can be pickled: texts, metadata and explanations are then found out for all of them, and the collection stays.

    query
        the text that was searched for.
    encode_seconds, search_seconds
        time taken to encode the query, and to find the hits (with the first stage, if there was one); of many queries
        at once, each query's share.
    scope
        ``"all"``: what the report guarantees holds among all documents; ``"candidates"``: among the candidates that
        were given or that the first stage chose.
    first_stage, depth
        what chose the candidates (``"bm25"``, ``"a function"``) and how many it was asked for; None without one.
    hybrid
        how BM25 had a say, and the scores that were fused; None if it had none. The guarantee is then about the fused
        scores.
    """

    query: str
    encode_seconds: float
    search_seconds: float
    scope: Literal["all", "candidates"]
    _count: Callable[[], int]
    _hits: Hits
    _encoder: Encoder
    _keys: Keys
    first_stage: str | None = None
    depth: int | None = None
    hybrid: HybridScores | None = None
    _report: Report | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: all that can be asked of hits, found out before they go."""
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
        """Whether any document of the collection is kept as several passages: then the report counts passages."""
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
        """How many tokens the query has: a score by late interaction, divided by it, is their mean similarity."""
        return self._hits.query_tokens

    @property
    def report(self) -> Report:
        """How the engine found the answer and what it guarantees, within the `scope`."""
        return self._report or self._hits.report

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
        keys = map(self._keys.parse, self._hits.ids)
        return [to_passage(record, number) for record, (_, number) in zip(self._records, keys, strict=True)]

    @property
    def metadata(self) -> list[Any]:
        """What was added with the hits, None where nothing was."""
        return [record["metadata"] for record in self._records]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[tuple[Id, float]]:
        return zip(self.ids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"TextHits({list(self)!r}, guarantee={self.report.guarantee!r}, scope={self.scope!r})"

    def hit(self, rank: int) -> TextHit:
        """The hit at ``rank``, from 0, with everything that is known of it."""
        rank = self._check_rank(rank)
        record = self._records[rank]
        passage = self.passages[rank]
        return TextHit(self.ids[rank], float(self.scores[rank]), passage.text, record["metadata"], passage)

    def explain(self, rank: int) -> list[WordMatch]:
        """Which word of the hit at ``rank`` answered each word of the query, and how similar they are.

        Places are counted in the text of its passage; a word of the headings that the passage is under has none, and
        ``start`` and ``end`` are 0. Empty if the encoder can't tell which characters a vector stands for (it is no
        `Traceable`).
        """
        rank = self._check_rank(rank)
        return list(self._words[rank]) if "_words" in vars(self) else self._explain(rank)

    @cached_property
    def _words(self) -> list[list[WordMatch]]:
        return [self._explain(rank) for rank in range(len(self))]

    def _explain(self, rank: int) -> list[WordMatch]:
        if not isinstance(self._encoder, Traceable):
            return []
        passage = self.passages[rank]
        spans = self._encoder.query_spans(self.query), self._encoder.document_spans(passage.encoded)
        matches = self._hits.explain(rank)
        if any(one.document_token >= len(spans[1]) for one in matches):
            raise DamagedIndexError(f"the text of {self.ids[rank]!r} is not the one that its vectors were made of")
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

"""The result of a text search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.printable import table
from maxsieve.errors import DamagedIndexError
from maxsieve.hits import Hit, Hits, Report
from maxsieve.ids import Id
from maxsieve.options import Unit
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.pictures import Pictures
from maxsieve.text.collection.words import (
    WordMatch,
    densest,
    match_patches,
    match_words,
    on_page,
    same_words,
    whole_word,
)
from maxsieve.text.encoders.encoder import Encoder, Traceable, query_spans_of, unit_rows
from maxsieve.text.lexical.hybrid import HybridScores
from maxsieve.text.pages.heat_map import cells_of, draw_boxes, draw_patches, relative
from maxsieve.text.pages.page import PageFacts, open_picture
from maxsieve.text.passages import Keys, Passage, check_record, to_facts, to_passage

_WHOLE = Keys(passages=False)

SHOWN = 200
"""How many characters of a text a notebook shows."""


class TextHit(Hit):
    """One document or passage that was found. ``text`` is its best passage, which may be the whole document."""

    _hits: TextHits

    @property
    def text(self) -> str:
        """The text of its best passage."""
        return self._hits.texts[self.rank]

    @property
    def passage(self) -> Passage:
        """Its best passage."""
        return self._hits.passages[self.rank]

    @property
    def passage_id(self) -> Id:
        """The id of its best passage, which no other passage of the collection has: ``"a"``, ``"a#p1"``, ..."""
        return self._hits.passage_ids[self.rank]

    @property
    def passages(self) -> TextHits:
        """Its best passages, best first: as many as ``per_document`` asked for, each a hit with score and text."""
        return self._hits.passages_of(self.rank)

    @property
    def heading(self) -> str:
        """The headings above its best-matching words; empty if there are none."""
        return self.passage.heading_at(self._place)

    @property
    def page(self) -> int | None:
        """The page of its best-matching words; None if the document has no pages."""
        return self.passage.page_at(self._place)

    @property
    def line(self) -> int | None:
        """The line of its best-matching words in its file; None if the lines of the text are not those of a file."""
        return self.passage.line_at(self._place)

    @property
    def _place(self) -> int:
        return 0 if self.passage.uniform else self._hits.place(self.rank)

    def picture(self, word: str | None = None) -> Any:
        """Its page with the matches drawn, as an image of Pillow: boxes around words, or a smooth map over patches.

        ``word`` draws the matches of one word of the query; by default those of all. `ValueError` if it is no page.
        """
        return self._hits.picture(self.rank, word)


@dataclass(frozen=True, eq=False, repr=False)
class TextHits(Hits):
    """The best documents for a text, best first. ``hits[0].text`` is the text of the best one.

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
    by
        what a hit is: ``"document"`` or ``"passage"``. Of a passage, ``hit.id`` is its document.
    """

    query: str = ""
    encode_seconds: float = 0.0
    search_seconds: float = 0.0
    scope: Literal["all", "matching", "candidates"] = "all"
    first_stage: str | None = None
    depth: int | None = None
    hybrid: HybridScores | None = None
    where: Any = None
    by: Unit = "document"
    _best: list[TextHits] | None = None
    """The best passages of each hit, if more than one was asked for."""
    _report: Report | None = None
    _count: Callable[[Keys], int] = lambda _: 0
    _encoder: Encoder | None = None
    _keys: Keys = _WHOLE
    _pictures: Pictures | None = None
    _at_home: ClassVar[frozenset[str]] = frozenset({"_count", "_encoder", "_keys", "_pictures"})

    @classmethod
    def of_passages(cls, hits: Hits, keys: Keys, **facts: Any) -> TextHits:
        """The documents whose best passages were found."""
        inherited = {field.name: getattr(hits, field.name) for field in fields(Hits)}
        inherited["ids"] = [keys.document(key) for key in hits.ids] if keys.passages else hits.ids
        return cls(**inherited, _keys=keys, **facts)

    def of_document(self, best: Hits, count: int) -> TextHits:
        """The best of the passages of one of these documents, for the same query."""
        shared = {"query": self.query, "_encoder": self._encoder, "_count": lambda keys: 1 if keys.passages else count}
        return TextHits.of_passages(best, self._keys, by="passage", scope="candidates", **shared)

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[TextHit]: ...

        @overload
        def __getitem__(self, rank: int) -> TextHit: ...

        @overload
        def __getitem__(self, rank: slice) -> TextHits: ...

        def __getitem__(self, rank: int | slice) -> TextHit | TextHits: ...

    def _hit(self, rank: int) -> TextHit:
        return TextHit(self, rank)

    def __repr__(self) -> str:
        return f"TextHits({list(self)!r}, guarantee={self.report.guarantee!r}, scope={self.scope!r})"

    def _repr_html_(self) -> str:
        rows = (
            (rank, hit.id, hit.score, hit.text[:SHOWN]) for rank, hit in enumerate(map(self._hit, range(len(self))))
        )
        caption = f"guarantee: {self.report.guarantee}, scope: {self.scope}"
        return table(["", "id", "score", "text"], rows, caption=caption)

    def reordered(self, ranks: Sequence[int], scores: NDArray[np.float32]) -> TextHits:
        """The hits at these ranks, in that order, with other scores."""
        hits = super().reordered(ranks, scores)
        assert isinstance(hits, TextHits)
        if self._best is not None:
            vars(hits)["_best"] = [self._best[rank] for rank in ranks]  # not by `replace`: they may have been pickled
        if self.hybrid is not None:
            vars(hits)["hybrid"] = self.hybrid.at(ranks)
        return hits

    def whole_similarities(self) -> NDArray[np.float32]:
        """For each hit, the cosine of the mean of the query's vectors and the mean of those of its passage."""
        rows = [np.asarray(self._snapshot.vectors(place), np.float32).mean(axis=0) for place in self._places]
        query = self._snapshot.layout.to_given(self._query)
        wholes = unit_rows(np.array([query.mean(axis=0), *rows]))
        return np.asarray(wholes[1:] @ wholes[0], np.float32)

    @property
    def snapshot(self) -> AnySnapshot:
        """The version of the index that was searched."""
        return self._snapshot

    @cached_property
    def n_documents(self) -> int:
        """How many documents were searched."""
        return self._count(self._keys)

    @cached_property
    def n_passages(self) -> int | None:
        """How many passages were searched; None if documents are what was searched for."""
        return None if self.by == "document" else self._count(self._keys.flat)

    @cached_property
    def has_passages(self) -> bool:
        """Whether any document of the collection has several passages: then the report counts passages."""
        return self._keys.count(self._snapshot) < self._snapshot.n_documents

    @cached_property
    def report(self) -> Report:
        """How the engine found the answer and what it guarantees, within the `scope`."""
        return self._report or self._ranking.report(self._promise)

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the hits' passages."""
        return [record["text"] for record in self._records]

    @cached_property
    def passages(self) -> list[Passage]:
        """The passage by which each hit was found: the best of its document."""
        keys = map(self._keys.parse, self._passage_keys)
        return [to_passage(record, number) for record, (_, number) in zip(self._records, keys, strict=True)]

    @cached_property
    def passage_ids(self) -> list[Id]:
        """The ids of these passages."""
        return self._passage_keys

    @property
    def lists_passages(self) -> bool:
        """Whether ``per_document`` asked for more than the best passage of each document."""
        return self._best is not None

    def passages_of(self, rank: int) -> TextHits:
        """The best passages of the hit at ``rank``, best first."""
        best = self._best[rank] if self._best is not None else None
        return best or self[rank : rank + 1]

    @cached_property
    def metadata(self) -> list[Any]:
        """The metadata of the hits; None for a hit without metadata."""
        return [record["metadata"] for record in self._records]

    def explain(self, rank: int) -> list[WordMatch]:  # type: ignore[override]
        """For each word of the query, the best matching word of the hit at ``rank``, and their similarity.

        Offsets are counted in the text of the passage. For a match in the headings above the passage, ``start`` and
        ``end`` are 0. If the query was given as vectors, ``query_start`` is the number of the vector. Empty if the
        encoder does not know which characters a vector belongs to (it is not `Traceable`).
        """
        rank = self._check_rank(rank)
        return list(self._words[rank]) if "_words" in vars(self) else self._explain(rank)

    def place(self, rank: int) -> int:
        """Where the best-matching words of the hit at ``rank`` are in the text of its passage."""
        rank = self._check_rank(rank)
        if rank not in self._densest:
            words = self.explain(rank) or same_words(self.query, self.texts[rank])
            self._densest[rank] = densest(words)
        return self._densest[rank]

    @cached_property
    def _densest(self) -> dict[int, int]:
        return {}

    @cached_property
    def _words(self) -> list[list[WordMatch]]:
        return [self._explain(rank) for rank in range(len(self))]

    def picture(self, rank: int, word: str | None = None) -> Any:
        """The page of the hit at ``rank`` with the matches drawn, as an image of Pillow (`TextHit.picture`)."""
        rank = self._check_rank(rank)
        facts = self.pages[rank]
        if facts is None:
            raise ValueError(f"the document {self.ids[rank]!r} is not a page: it has no picture")
        if self._pictures is None:
            raise ValueError("these hits were pickled: pictures stay in their collection")
        if word is not None and word not in self.query:
            raise ValueError(f"{word!r} is not in the query, {self.query!r}")
        image = open_picture(self._pictures.read(facts.digest))
        if facts.grids:
            similar = self._snapshot.similarities(self._query[self._tokens(word)], self._places[rank])
            return draw_patches(image, similar, facts.grids)
        words = (match for match in self.explain(rank) if word is None or match.query in word)
        return draw_boxes(image, ((match.box, match.similarity) for match in words if match.box is not None))

    def patch_maps(self, rank: int) -> list[tuple[int, int, NDArray[np.float32]]]:
        """For a page of patches, of each word of the query: where it begins, how many tokens it has, and its map.

        A map has the similarity of each patch, from 0 (the lowest) to 1 (the highest), grid by grid. Empty for other
        documents, and if the encoder does not know the words of the query.
        """
        facts = self.pages[self._check_rank(rank)]
        spans = query_spans_of(self._encoder, self.query) if self.query else None
        if facts is None or not facts.grids or spans is None or len(spans) != len(self._query):
            return []
        similar = self._snapshot.similarities(self._query, self._places[rank])
        maps = relative(similar, facts.grids)[:, cells_of(facts.grids)]
        words: dict[tuple[int, int], list[int]] = {}
        for token, span in enumerate(spans):
            if span[0] < span[1]:
                words.setdefault(whole_word(self.query, span), []).append(token)
        return [(start, len(tokens), maps[tokens].mean(axis=0)) for (start, _), tokens in words.items()]

    @cached_property
    def pages(self) -> list[PageFacts | None]:
        """For each hit that is a page: its picture's digest and size, and its words or patches; None for others."""
        return [to_facts(record, key) for record, key in zip(self._records, self._passage_keys, strict=True)]

    def _tokens(self, word: str | None) -> list[int]:
        """The query tokens to draw: those of a word, or of all words, without markers and special tokens."""
        spans = query_spans_of(self._encoder, self.query) if self.query else None
        if spans is None or len(spans) != len(self._query):
            return list(range(len(self._query)))
        start = 0 if word is None else self.query.index(word)
        end = len(self.query) if word is None else start + len(word)
        return [token for token, span in enumerate(spans) if span[0] < span[1] and start <= span[0] < end]

    def _explain(self, rank: int) -> list[WordMatch]:
        facts = self.pages[rank]
        if facts is not None and facts.grids:
            spans = query_spans_of(self._encoder, self.query) if self.query else None
            return match_patches(self.query, spans, facts, super().explain(rank))
        if not isinstance(self._encoder, Traceable):
            return []
        passage = self.passages[rank]
        matches = super().explain(rank)
        asked = self._encoder.query_spans(self.query) if self.query else [(t, t) for t in range(len(matches))]
        spans = asked, self._encoder.document_spans(passage.encoded)
        if any(match.document_token >= len(spans[1]) for match in matches):
            raise DamagedIndexError(f"the text of {self.ids[rank]!r} is not the text that its vectors were made from")
        words = match_words(self.query, spans[0], passage.encoded, spans[1], matches)
        moved = [word.moved(-len(passage.context)) for word in words]
        return moved if facts is None else on_page(moved, facts)

    @property
    def _passage_keys(self) -> list[Any]:
        keys = self._ranking.ids
        return keys if self._entries is None else [keys[entry] for entry in self._entries]

    @cached_property
    def _records(self) -> list[Any]:
        return [*map(check_record, self._snapshot.metadata(self._places), self._passage_keys)]

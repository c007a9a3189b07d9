"""What a collection is calibrated on: the texts of queries, or sentences of its own documents."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import progress_bar
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.encoder import Encoder
from maxsieve.text.passages import check_record
from maxsieve.text.searching import Queries

OWN_SENTENCES = 200
"""Sentences drawn from a collection's documents: twice as many as an overlap of 0.99 needs."""

FEWEST_WORDS, MOST_WORDS = 4, 40
"""Of a sentence that may stand for a query."""

READ = 256
"""Texts read at a time."""

TOGETHER = 64
"""Queries encoded at a time."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]\u201d\u2019]*\s+|[\r\n]+")


def read_queries(texts: Iterable[str]) -> Queries:
    """Queries to calibrate on, checked: there is one at least, and none is empty."""
    queries = Queries.many(texts, None, None, taker="calibrate")
    if not queries.texts:
        raise ValueError("calibrate needs queries, and the list is empty; calibrate() takes sentences of the documents")
    queries.check(bool(text.strip()) for text in queries.texts)
    return queries


def own_sentences(state: Snapshot) -> list[str]:
    """Sentences of the documents, at most one of each; the same for the same documents."""
    drawn = list(draw_sentences(_texts(state)))
    if not drawn:
        raise ValueError(
            f"no document has a sentence of {FEWEST_WORDS} to {MOST_WORDS} words: "
            "call collection.calibrate(queries) with queries of your own"
        )
    return drawn


def encode(texts: list[str], encoder: Encoder, *, progress: bool) -> list[NDArray[np.float32]]:
    """The token vectors of queries."""
    vectors: list[NDArray[np.float32]] = []
    with progress_bar("encoding", len(texts), shown=progress, unit="queries") as advance:
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            encoded = encoder.queries(some)
            vectors += encoded
            advance(len(some), sum(map(len, encoded)))
    return vectors


def draw_sentences(texts: Iterable[str], wanted: int = OWN_SENTENCES) -> Iterator[str]:
    """One sentence of each text, chosen at random but always the same, until there are so many; none comes twice.

    >>> list(draw_sentences(["Too short.", "A red fox by the river. Yes!", "A red fox by the river."]))
    ['A red fox by the river.']
    """
    chance = random.Random(0)
    drawn: set[str] = set()
    for text in texts:
        if found := [sentence for sentence in sentences_of(text) if sentence not in drawn]:
            sentence = found[chance.randrange(len(found))]
            drawn.add(sentence)
            yield sentence
            if len(drawn) == wanted:
                return


def sentences_of(text: str) -> list[str]:
    r"""The sentences of a text, ended by ``.``, ``!`` or ``?`` and a space or by a line break, that have 4 to 40 words.

    >>> sentences_of("The title\nIt took 3.5 hours to cook. Was it good? Nobody who ate it - ever - knew.")
    ['It took 3.5 hours to cook.', 'Nobody who ate it - ever - knew.']
    """
    pieces = (piece.strip() for piece in _SENTENCE_END.split(text))
    return [piece for piece in pieces if FEWEST_WORDS <= _words(piece) <= MOST_WORDS]


def _words(piece: str) -> int:
    """Runs without white space that have a letter or a digit."""
    return sum(any(map(str.isalnum, run)) for run in piece.split())


def _texts(state: Snapshot) -> Iterator[str]:
    """The texts of all documents that can be hits, in an order that is random but always the same."""
    order = random.Random(0).sample(state.searchable.tolist(), len(state.searchable))
    for start in range(0, len(order), READ):
        positions = order[start : start + READ]
        for position, record in zip(positions, state.metadata(positions), strict=True):
            yield str(check_record(record, state.ids[position])["text"])

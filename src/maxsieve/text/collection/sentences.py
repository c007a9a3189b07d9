"""The queries that a collection is calibrated on: given texts, or sentences of its own documents."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxsieve.calibrate import check_findable
from maxsieve.common.checks import as_count
from maxsieve.common.progress import progress_bar
from maxsieve.errors import Argument, hinted
from maxsieve.storage.calibration import Origin, check_storable
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.collection.search import check_usable, read_texts
from maxsieve.text.encoders.encoder import Encoder
from maxsieve.text.passages import read_records
from maxsieve.where import Where

if TYPE_CHECKING:
    from maxsieve.text.collection.collection import Collection

OWN_SENTENCES = 200
"""Sentences drawn from a collection's documents: twice as many as an overlap of 0.99 needs."""

FEWEST_WORDS, MOST_WORDS = 4, 40
"""Limits on the words of a sentence that is used as a query."""

READ = 256
"""How many texts are read at a time."""

BATCH = 64
"""How many queries are encoded at a time."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]\u201d\u2019]*\s+|[\r\n]+")


def calibrate(
    collection: Collection, queries: Iterable[str] | None, k: int, where: Where | None, *, progress: bool
) -> None:
    """Calibrates a collection, whose lock is held, on the texts of queries or on sentences of its own.

    With a filter, sentences are drawn from documents that match.
    """
    k = as_count(k, "k", at_least=1)
    if where is not None:
        check_storable(where)
    given = None if queries is None else read_queries(queries)
    if not collection.index.tokens:
        raise ValueError("no document here has a token: add documents before calibrate")
    snapshot = collection.index.storage.snapshot
    check_findable(snapshot, where)
    texts = own_sentences(snapshot.here, where) if given is None else given
    vectors = encode(texts, collection.encoder, progress=progress)
    if given is None:
        vectors = [rows for rows in vectors if len(rows)]
    else:
        check_usable(given, (len(rows) > 0 for rows in vectors))
    origin: Origin = "own sentences" if given is None else "queries"
    collection.index.calibrate(vectors, k, where=where, calibrated_on=origin, progress=progress)


def read_queries(texts: Iterable[str]) -> list[str]:
    """Queries for calibration, checked: there is at least one, and none is empty."""
    queries = read_texts(texts, "calibrate")
    if not queries:
        raise ValueError("the list of queries is empty; calibrate() without queries uses sentences of the documents")
    check_usable(queries, (bool(text.strip()) for text in queries))
    return queries


def own_sentences(snapshot: Snapshot, where: Where | None = None, wanted: int = OWN_SENTENCES) -> list[str]:
    """Up to ``wanted`` sentences of the documents that match a filter, at most one per document, always the same."""
    drawn = list(draw_sentences(_texts(snapshot, where), wanted))
    if not drawn:
        which = "no document" if where is None else "no document that matches the filter"
        wrong = ValueError(f"{which} has a sentence of {FEWEST_WORDS} to {MOST_WORDS} words")
        raise hinted(wrong, ": give queries of your own by {}", Argument("queries"))
    return drawn


def encode(texts: list[str], encoder: Encoder, *, progress: bool) -> list[NDArray[np.float32]]:
    """The token vectors of queries."""
    vectors: list[NDArray[np.float32]] = []
    with progress_bar("encoding", len(texts), shown=progress, unit="queries") as advance:
        for start in range(0, len(texts), BATCH):
            some = texts[start : start + BATCH]
            encoded = encoder.encode_queries(some)
            vectors += encoded
            advance(len(some), sum(map(len, encoded)))
    return vectors


def draw_sentences(texts: Iterable[str], wanted: int = OWN_SENTENCES) -> Iterator[str]:
    """Up to ``wanted`` different sentences, at most one per text, chosen at random with a fixed seed.

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
    """Counts the words: parts between white space that have a letter or a digit."""
    return sum(any(map(str.isalnum, run)) for run in piece.split())


def _texts(snapshot: Snapshot, where: Where | None) -> Iterator[str]:
    """The texts of the documents that can be hits, in an order that is random but always the same."""
    found = snapshot.insertion_order
    if where is not None:
        found = found[snapshot.matching(where)[found]]
    order = random.Random(0).sample(found.tolist(), len(found))
    return (record["text"] for _, record in read_records(snapshot, order, READ))

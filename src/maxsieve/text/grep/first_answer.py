"""The first answer about a folder, without a collection: passages that BM25 selects, encoded and ranked at once.

A large tree would take many minutes to encode. So files are read and stems of the question are counted in blocks of
them. Only the files with the best blocks are split into passages, and only the best passages are encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from maxsieve.text.grep.pattern import Pattern
from maxsieve.text.inputs.document import InputDocument
from maxsieve.text.lexical.scores import best_of
from maxsieve.text.lexical.stems import StemCounter, bm25_scores, rarity, split_identifiers
from maxsieve.text.passages import Document, Passage

BLOCK = 1500
"""Characters of a block."""

MOST_FILES, MOST_PASSAGES, MOST_TOKENS = 100, 100, 12_000
"""How many files are split and how many passages are encoded, with so many tokens in total: a few seconds."""

IN_PATH = 2
"""A stem in the path of a file counts as so many occurrences in each of its blocks and passages."""

Read = Callable[[str], InputDocument | None]
"""Reads a file by its id; None if it can't be read."""

Split = Callable[[InputDocument], Iterable[Passage]]
Count = Callable[[list[str]], list[int]]


class Selection(NamedTuple):
    """The best passages of a folder by BM25, best first, and how many files were read for them."""

    passages: list[tuple[Document, Passage]]
    files: int


def select_passages(
    ids: Iterable[str], read: Read, split: Split, count: Count, question: str, pattern: Pattern | None = None
) -> Selection:
    """Selects passages for a question among files. With a pattern, only passages in which it occurs."""
    counter = StemCounter(question)
    rows, owners, files = [], list[str](), 0
    for document in _documents(ids, read):
        files += 1
        if pattern is None or pattern.occurs_in(document.text):
            own = counter.in_blocks(document.text, BLOCK) + IN_PATH * counter.counts(str(document.id))
            rows.append(own)
            owners += [str(document.id)] * len(own)
    if not rows or not counter.stems:
        return Selection([], files)
    blocks = np.concatenate(rows)
    weights = rarity(blocks)
    ranked = best_of(bm25_scores(blocks, [1] * len(blocks), weights).astype(np.float32), len(blocks))
    chosen = list(dict.fromkeys(owners[place] for place in ranked.tolist()))[:MOST_FILES]
    passages = [
        (document, passage)
        for document in _documents(chosen, read)
        for passage in split(document)
        if pattern is None or pattern.occurs_in(passage.text)
    ]
    if not passages:
        return Selection([], files)
    counts = np.array(
        [counter.counts(passage.encoded) + IN_PATH * counter.counts(str(document.id)) for document, passage in passages]
    )
    scores = bm25_scores(counts, [len(passage.encoded) for _, passage in passages], weights)
    best = [passages[place] for place in best_of(scores.astype(np.float32), MOST_PASSAGES).tolist()]
    tokens = np.cumsum(count([passage.encoded for _, passage in best]))
    affordable = max(1, int(np.searchsorted(tokens, MOST_TOKENS, "right")))
    documents = {own.id: Document(own.id or "", own.text, own.metadata) for own, _ in best}
    return Selection([(documents[own.id], passage) for own, passage in best[:affordable]], files)


def spelled_out(passage: Passage) -> Passage:
    r"""The passage as it is encoded: the words of identifiers in its headings are there on their own, too.

    A model knows "file" and "cache", and few of the names that are made of them.

    >>> spelled_out(Passage("pass", heading="FileCache.read_all")).encoded
    'FileCache.read_all File Cache read all\npass'
    >>> spelled_out(Passage("pass", heading="read")).encoded
    'read\npass'
    """
    words = split_identifiers(passage.heading.replace(".", " "))
    return passage if words == passage.heading else passage._replace(heading=f"{passage.heading} {words}")


def _documents(ids: Iterable[str], read: Read) -> Iterator[InputDocument]:
    return (document for id in ids if (document := read(id)) is not None)

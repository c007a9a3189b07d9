"""Why a text matched: maps matches of token vectors to words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from maxsieve.hits import Match
from maxsieve.text.pages.page import PageFacts
from maxsieve.text.pages.places import Box, around, cell_of, words_within

LONGEST_WORD = 40
"""Longer runs of letters are not one word: some scripts have no spaces between words."""

NEAR = 200
"""How many characters show a match: about two lines of text."""

_WORD = re.compile(r"\w+")
Span = tuple[int, int]


class WordMatch(NamedTuple):
    """A word of the query, the word of the document most similar to it, and how similar.

    ``text[start:end]`` is ``document``, and ``query`` is at ``query_start`` in the query. The encoder may split a word
    of the query into pieces. If all pieces match the same word, they are one match with their mean similarity;
    otherwise each piece is a match.
    """

    query: str
    document: str
    start: int
    end: int
    similarity: float
    query_start: int = 0
    box: Box | None = None
    """Where the match is on a page, if the document is one: the box of the word, or a patch."""

    def to_plain(self) -> dict[str, Any]:
        """As JSON-compatible data; the box is a list, and is left out if there is none."""
        plain = self._asdict()
        box = plain.pop("box")
        return plain if box is None else {**plain, "box": [round(side, 4) for side in box]}

    def moved(self, by: int) -> WordMatch:
        """The match with its offsets moved; a match that would start before 0 becomes empty."""
        start = max(0, self.start + by)
        return self._replace(start=start, end=max(start, self.end + by) if self.start + by >= 0 else start)


def match_words(
    query: str, query_spans: Sequence[Span], text: str, text_spans: Sequence[Span], matches: Sequence[Match]
) -> list[WordMatch]:
    """Turns matches of tokens into matches of words, in the order of the query.

    >>> matches = [Match(0, 1, 0.75), Match(1, 2, 0.25), Match(2, 0, 0.5)]
    >>> for word in match_words("undo it", [(0, 2), (2, 4), (5, 7)], "it undoes", [(0, 2), (3, 5), (5, 9)], matches):
    ...     print(word)
    WordMatch(query='undo', document='undoes', start=3, end=9, similarity=0.5, query_start=0, box=None)
    WordMatch(query='it', document='it', start=0, end=2, similarity=0.5, query_start=5, box=None)
    """
    words = []
    pairs = [
        (query_spans[match.query_token], whole_word(text, text_spans[match.document_token]), match) for match in matches
    ]
    for (_, (start, end)), group in groupby(pairs, lambda pair: (whole_word(query, pair[0]), pair[1])):
        pieces = list(group)
        asked = query[pieces[0][0][0] : pieces[-1][0][1]]
        similarity = sum(match.similarity for *_, match in pieces) / len(pieces)
        words.append(WordMatch(asked, text[start:end], start, end, similarity, pieces[0][0][0]))
    return words


def on_page(words: Sequence[WordMatch], page: PageFacts) -> list[WordMatch]:
    """The matches with the boxes of their words on a page."""
    found = ((word, words_within(page.words, word.start, word.end)) for word in words)
    return [word._replace(box=around(one.box for one in inside)) if inside else word for word, inside in found]


def match_patches(
    query: str, query_spans: Sequence[Span] | None, page: PageFacts, matches: Sequence[Match]
) -> list[WordMatch]:
    """Turns matches of tokens with patches into matches of words of the query, in their order.

    Tokens that belong to no word, such as a marker, are left out.
    """
    if query_spans is None or len(query_spans) != len(matches):
        cells = ((match, cell_of(page.grids, match.document_token)) for match in matches)
        return [WordMatch("", "", 0, 0, match.similarity, match.query_token, box) for match, box in cells]
    words = []
    pairs = [(match, query_spans[match.query_token], cell_of(page.grids, match.document_token)) for match in matches]
    inside = (pair for pair in pairs if pair[1][0] < pair[1][1])
    for (_, box), group in groupby(inside, lambda pair: (whole_word(query, pair[1]), pair[2])):
        pieces = list(group)
        start, end = pieces[0][1][0], pieces[-1][1][1]
        similarity = sum(match.similarity for match, *_ in pieces) / len(pieces)
        words.append(WordMatch(query[start:end], "", 0, 0, similarity, start, box))
    return words


def same_words(query: str, text: str) -> list[WordMatch]:
    """The words of a query in a text, for encoders that don't know which characters a vector belongs to.

    >>> same_words("The fox?", "A fox")
    [WordMatch(query='fox', document='fox', start=2, end=5, similarity=1.0, query_start=4, box=None)]
    """
    asked = {found[0].casefold(): found for found in _WORD.finditer(query)}
    words = ((found, asked.get(found[0].casefold())) for found in _WORD.finditer(text))
    return [WordMatch(own[0], found[0], *found.span(), 1.0, own.start()) for found, own in words if own]


def densest(matches: Sequence[WordMatch]) -> int:
    """Where the best-matching words are: the beginning of the strongest word within the densest `NEAR` characters.

    >>> words = [(10, 0.5), (300, 0.6), (330, 0.7)]
    >>> densest([WordMatch("", "", start, start + 4, similarity) for start, similarity in words])
    330
    """
    strengths: dict[int, float] = {}
    for match in matches:
        if match.end > match.start and match.similarity > 0:
            strengths[match.start] = strengths.get(match.start, 0.0) + match.similarity**2
    starts = sorted(strengths)
    best, place = 0.0, 0
    for first, start in enumerate(starts):
        near = starts[first : bisect_left(starts, start + NEAR)]
        total = sum(map(strengths.__getitem__, near))
        if total > best:
            best, place = total, max(near, key=strengths.__getitem__)
    return place


def whole_word(text: str, span: Span) -> Span:
    """The span of the word that contains a piece.

    >>> whole_word("see: overwritten!", (7, 9))
    (5, 16)
    """
    start, end = first, last = span
    if start == end or not all(_is_letter(letter) for letter in text[start:end]):
        return span
    while first > 0 and _is_letter(text[first - 1]):
        first -= 1
    while last < len(text) and _is_letter(text[last]):
        last += 1
    return (first, last) if last - first <= LONGEST_WORD else span


def _is_letter(letter: str) -> bool:
    """Whether it is part of a longer word: a letter or digit, but not an ideograph, which is a word by itself."""
    return (letter.isalnum() or letter == "_") and unicodedata.east_asian_width(letter) not in ("W", "F")

"""How strongly each word of a document matched: what a snippet marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from maxsieve.text.words import WordMatch

GRADES = (0.35, 0.7, 1.1)
"""The strengths from which a word is marked weakly, clearly and strongly."""


class Mark(NamedTuple):
    """Characters of a document, and how strongly they matched."""

    start: int
    end: int
    strength: float

    @property
    def grade(self) -> int:
        """0 (not marked) to 3 (strongest)."""
        return sum(self.strength >= least for least in GRADES)


def marks_of(matches: Sequence[WordMatch]) -> list[Mark]:
    """The matched words of a document with their strengths, in order.

    A word's strength is its best similarity times its contribution: the similarities of all words of the query that
    found their best match in it, over the mean similarity. So a word that one word of the query matches perfectly has
    1 in a document whose other words match as well.

    >>> from maxsieve.text.words import WordMatch
    >>> marks_of([WordMatch("name", "pathname", 8, 16, 0.75), WordMatch("path", "pathname", 8, 16, 0.5)])
    [Mark(start=8, end=16, strength=1.5)]
    """
    mean = sum(max(match.similarity, 0.0) for match in matches) / max(len(matches), 1)
    words: dict[tuple[int, int], tuple[float, float]] = {}
    for match in matches:
        if match.end > match.start and match.similarity > 0:
            best, total = words.get((match.start, match.end), (0.0, 0.0))
            words[match.start, match.end] = max(best, match.similarity), total + match.similarity
    return [Mark(*word, best * total / mean) for word, (best, total) in sorted(words.items())]

"""Why a text matched, in short: which of its words matched, and the part of it where they are densest.

The command line and the page of the service show the same part and the same marks; each draws them in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from maxsieve.text.collection.words import WordMatch

GRADES = (0.35, 0.7, 1.1)
"""The lowest strengths of a weak, a clear and a strong mark."""

WIDE = "\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U0001f000-\U0003ffff"
REACH = 2000
"""The snippet is searched up to this many characters after the last mark."""


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
    """The matched words of a document with their strengths, in order; no punctuation, unless the query asks for it.

    A word's strength is its best similarity times its contribution. The contribution is the sum of the similarities of
    all query words whose best match it is, divided by the mean similarity. So a word that one query word matches
    perfectly has strength 1 if the other query words match equally well.

    >>> from maxsieve.text.collection.words import WordMatch
    >>> marks_of([WordMatch("name", "pathname", 8, 16, 0.75), WordMatch("path", "pathname", 8, 16, 0.5)])
    [Mark(start=8, end=16, strength=1.5)]
    """
    mean = sum(max(match.similarity, 0.0) for match in matches) / max(len(matches), 1)
    words: dict[tuple[int, int], tuple[float, float]] = {}
    for match in matches:
        punctuation = not _has_letter(match.document) and _has_letter(match.query)
        if match.end > match.start and match.similarity > 0 and not punctuation:
            best, total = words.get((match.start, match.end), (0.0, 0.0))
            words[match.start, match.end] = max(best, match.similarity), total + match.similarity
    return [Mark(*word, best * total / mean) for word, (best, total) in sorted(words.items())]


def _has_letter(word: str) -> bool:
    return any(map(str.isalnum, word))


class SnippetPiece(NamedTuple):
    """Characters that stay together, the cells they take, whether white space is before them, and their strength."""

    start: int
    end: int
    cells: int
    spaced: bool
    strength: float


def snippet_rows(
    text: str, marks: Sequence[Mark], width: int, lines: int, *, skip: int = 0, cells: Callable[[str], int] = len
) -> list[list[SnippetPiece]]:
    """At most ``lines`` lines of ``width`` cells, from where the marks are densest; ``skip`` leaves out the beginning.

    ``cells`` is how wide a string is.

    >>> [row] = snippet_rows("alpha beta " * 40 + "gamma", [Mark(440, 445, 1.0)], 20, 1)
    >>> [(piece.start, piece.end) for piece in row]
    [(429, 434), (435, 439), (440, 445)]
    """
    marks = [mark for mark in marks if mark.grade]
    reach = max((mark.end for mark in marks), default=skip) + REACH
    return _best_rows(text, _pieces(text, marks, skip, reach, max(1, width - 4), cells), width, lines)


def excerpt(text: str, marks: Sequence[Mark], length: int, *, skip: int = 0) -> tuple[int, int]:
    """The offsets of at most ``length`` characters where the marks are densest.

    >>> excerpt("alpha beta " * 40 + "gamma", [Mark(440, 445, 1.0)], 20)
    (429, 445)
    """
    row = [piece for row in snippet_rows(text, marks, length, 1, skip=skip) for piece in row]
    return (row[0].start, row[-1].end) if row else (skip, skip)


def title_of(text: str, metadata: Any) -> tuple[str, int]:
    r"""A document's title, empty if it has none; and how many characters of the text repeat it.

    >>> title_of("Alpha\nThe first letter.", {"title": "Alpha"}), title_of("The first letter.", None)
    (('Alpha', 6), ('', 0))
    """
    title = metadata.get("title") if isinstance(metadata, dict) else None
    title = title.strip() if isinstance(title, str) else ""
    return title, len(title) + 1 if title and text.startswith(f"{title}\n") else 0


def _pieces(
    text: str, marks: Sequence[Mark], start: int, end: int, longest: int, cells: Callable[[str], int]
) -> list[SnippetPiece]:
    """Pieces that are never split: words, parts of a very long word, single characters of scripts without spaces."""
    pieces: list[SnippetPiece] = []
    pattern = re.compile(f"[{WIDE}]|[^\\s{WIDE}]{{1,{longest}}}")
    upcoming = [mark for mark in marks if mark.start >= start]
    place = 0
    for found in pattern.finditer(text, start, min(end, len(text))):
        while place < len(upcoming) and upcoming[place].end <= found.start():
            place += 1
        inside = (mark.strength for mark in upcoming[place : place + 8] if mark.start < found.end())
        spaced = found.start() > 0 and text[found.start() - 1].isspace()
        pieces.append(SnippetPiece(found.start(), found.end(), cells(found.group()), spaced, sum(inside)))
    return pieces


def _best_rows(text: str, pieces: list[SnippetPiece], width: int, lines: int) -> list[list[SnippetPiece]]:
    """The rows with the greatest strength. If that costs little, they begin where the text or a sentence begins."""
    if not pieces:
        return []
    cells = width * lines
    ends = _ends(pieces, cells)
    total = [0.0]
    for piece in pieces:
        total.append(total[-1] + piece.strength)
    strengths = [total[end] - total[start] for start, end in enumerate(ends)]
    good = 0.9 * max(strengths)

    def worth(start: int) -> tuple[bool, bool, float]:
        begins = start == 0 or text[pieces[start - 1].end - 1] in ".!?:"
        return start == 0, begins, strengths[start]

    start = max((start for start, strength in enumerate(strengths) if strength >= good), key=worth)

    def shown(start: int) -> float:
        return sum(piece.strength for row in _rows(pieces, start, width, lines) for piece in row)

    if shown(start) < good:  # long pieces leave more of the lines empty than was thought
        start = max(range(start, ends[start]), key=shown)
    return _rows(pieces, start, width, lines)


def _ends(pieces: list[SnippetPiece], cells: int) -> list[int]:
    """For each start, the end of the pieces that fit. A tenth of the width is kept free, because lines end unevenly."""
    ends, end, used = [], 0, 0
    for start in range(len(pieces)):
        while end < len(pieces) and used + pieces[end].cells + pieces[end].spaced <= cells * 9 // 10:
            used += pieces[end].cells + pieces[end].spaced
            end += 1
        end = max(end, start + 1)
        ends.append(end)
        used = max(0, used - pieces[start].cells - pieces[start].spaced)
    return ends


def _rows(pieces: list[SnippetPiece], start: int, width: int, lines: int) -> list[list[SnippetPiece]]:
    rows: list[list[SnippetPiece]] = [[]]
    used = 2 if start else 0
    for position in range(start, len(pieces)):
        piece = pieces[position]
        needed = piece.cells + (piece.spaced and bool(rows[-1]))
        last = len(rows) == lines
        if used + needed > width - (2 if last and position + 1 < len(pieces) else 0) and rows[-1]:
            if last:
                break
            rows.append([])
            used, needed = 0, piece.cells
        rows[-1].append(piece)
        used += needed
    return rows

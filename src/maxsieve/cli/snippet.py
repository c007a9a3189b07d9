"""A hit's text on a terminal: the part of it with the strongest matches, in which matched words are marked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from maxsieve.common.printable import printable
from maxsieve.text.collection.snippets import Mark, Piece, snippet_rows

STYLES = ("", "underline", "bold cyan", "bold black on cyan")
"""The style of each grade of a mark."""

ELLIPSIS = "…"


def snippet(text: str, marks: Sequence[Mark], width: int, lines: int, *, skip: int = 0) -> Text:
    """At most ``lines`` lines of ``width`` cells, from where the marks are densest; ``skip`` leaves out the beginning.

    >>> snippet("alpha beta " * 40 + "gamma", [Mark(440, 445, 1.0)], 20, 1).plain
    '… alpha beta gamma'
    """
    rows = snippet_rows(text, marks, width, lines, skip=skip, cells=lambda piece: cell_len(printable(piece)))
    shown = Text()
    for number, row in enumerate(rows):
        shown.append("\n" if number else "")
        if number == 0 and text[skip : row[0].start].strip():
            shown.append(f"{ELLIPSIS} ")
        for position, piece in enumerate(row):
            shown.append(" " if position and piece.spaced else "")
            shown.append_text(_styled(text, piece, marks))
    if rows and rows[-1] and text[rows[-1][-1].end :].strip():
        shown.append(f" {ELLIPSIS}")
    return shown


def _styled(text: str, piece: Piece, marks: Sequence[Mark]) -> Text:
    shown = Text(printable(text[piece.start : piece.end]))
    for mark in marks:
        if mark.start < piece.end and piece.start < mark.end:
            first, last = max(mark.start, piece.start) - piece.start, min(mark.end, piece.end) - piece.start
            shown.stylize(STYLES[mark.grade], first, last)
    return shown

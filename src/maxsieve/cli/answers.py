"""Prints hits for people, and what the answer guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from maxsieve.common.printable import printable
from maxsieve.policies import Bandit, Policy
from maxsieve.text.collection.answers import guarantee_sentence
from maxsieve.text.collection.snippets import Mark, SnippetPiece, marks_of, snippet_rows, title_of

if TYPE_CHECKING:
    from maxsieve.text import TextHits
    from maxsieve.text.collection.hits import TextHit


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


def _styled(text: str, piece: SnippetPiece, marks: Sequence[Mark]) -> Text:
    shown = Text(printable(text[piece.start : piece.end]))
    for mark in marks:
        if mark.start < piece.end and piece.start < mark.end:
            first, last = max(mark.start, piece.start) - piece.start, min(mark.end, piece.end) - piece.start
            shown.stylize(STYLES[mark.grade], first, last)
    return shown


WIDEST = 100
"""The longest line: longer ones are tiring to read, even on a wide terminal."""

SNIPPET_LINES = 2


def show_answer(console: Console, hits: TextHits, *, policy: Policy | None = None) -> None:
    """The hits and the report."""
    if not len(hits):
        console.print("no hits")
    show_hits(console, hits)
    console.print(Text(report_line(hits, policy), "dim"), soft_wrap=True)


def show_hits(console: Console, hits: TextHits, *, lines: int = SNIPPET_LINES) -> None:
    """A heading and a snippet for each hit."""
    width = min(console.width, WIDEST)
    margin = len(str(len(hits)))
    scores = [f"{score:.{2 if hits.hybrid is None else 4}f}" for score in hits.scores]
    score_width = max(map(len, scores), default=0)
    indent = margin + score_width + 4
    for rank, score in enumerate(scores):
        hit = hits[rank]
        marks = marks_of(hit.explain())
        name, skip = heading(hit.id, hit.text, hit.metadata, place_of(hit))
        title = Text(_cut(name, max(8, width - indent)), "bold")
        for mark in marks:
            if mark.end < skip:
                title.stylize(STYLES[mark.grade], mark.start, mark.end)
        line = Text.assemble((f"{rank + 1:>{margin}}", "dim"), "  ", (f"{score:>{score_width}}", "green"), "  ", title)
        console.print(line, soft_wrap=True)
        _show_snippet(console, snippet(hit.text, marks, max(16, width - margin - 2), lines, skip=skip), margin + 2)
        for further in hit.passages[1:]:
            console.print(
                Text(" " * (margin + 2) + _cut(_further(further), max(8, width - margin - 2)), "bold"), soft_wrap=True
            )
            text = snippet(further.text, marks_of(further.explain()), max(16, width - margin - 4), lines)
            _show_snippet(console, text, margin + 4)


def _show_snippet(console: Console, text: Text, indent: int) -> None:
    for row in text.split("\n"):
        if row.plain.strip():
            console.print(Text(" " * indent).append_text(row), soft_wrap=True)


def _further(hit: TextHit) -> str:
    """The heading of a further passage of a document."""
    return f"{place_of(hit).removeprefix(' · ')} ({hit.score:.2f})"


def heading(identity: Any, text: str, metadata: Any, where: str = "") -> tuple[str, int]:
    r"""A document's heading (its title, else its id), and how many characters of its text repeat the title.

    >>> heading("d1", "Alpha\nThe first letter.", {"title": "Alpha"})
    ('Alpha (d1)', 6)
    >>> heading("notes/a.md", "The first letter.", None)
    ('notes/a.md', 0)
    """
    title, skip = title_of(text, metadata)
    if not title:
        return f"{identity}{where}", 0
    return (title if title == str(identity) else f"{title} ({identity})") + where, skip


def place_of(hit: TextHit) -> str:
    """Where the best-matching words of a hit are in its document; empty if nothing is known."""
    title, _ = title_of(hit.text, hit.metadata)
    above = hit.heading.removeprefix(title).removeprefix(" > ")
    parts = [above, *(f"{what} {number}" for what, number in (("page", hit.page), ("line", hit.line)) if number)]
    if not any(parts) and hit.passage.of > 1:
        parts = [f"passage {hit.passage.number + 1} of {hit.passage.of}"]
    return "".join(f" · {part}" for part in parts if part)


def _cut(name: str, cells: int) -> str:
    name = printable(name)
    cut = set_cell_size(name, cells).rstrip()
    return name if cut == name else set_cell_size(name, cells - 1).rstrip() + ELLIPSIS


def report_line(hits: TextHits, policy: Policy | None = None) -> str:
    """One line: what the answer guarantees, and what it cost."""
    report = hits.report
    coverage = f" · {report.coverage:.0%} of cells revealed" if isinstance(policy, Bandit) else ""
    return (
        f"{guarantee_sentence(hits, policy)}{coverage} · {report.rescored:,} rescored"
        f" · {milliseconds(hits.encode_seconds)} encoding, {milliseconds(hits.search_seconds)} search"
    )


def milliseconds(seconds: float) -> str:
    """A short time.

    >>> milliseconds(0.00123), milliseconds(0.0456)
    ('1.2 ms', '46 ms')
    """
    value = seconds * 1e3
    return f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"

"""Hits on a terminal or in a pipe: rank, score, title, a snippet with its matches marked, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from maxsieve.cli.show.marks import marks_of
from maxsieve.cli.show.report import report_line
from maxsieve.cli.show.snippet import ELLIPSIS, STYLES, snippet
from maxsieve.common.printable import printable
from maxsieve.policies import Policy

if TYPE_CHECKING:
    from maxsieve.text import TextHits

WIDEST = 100
"""Longer lines are tiring to read, however wide the terminal is."""

SNIPPET_LINES = 2


def show_answer(
    console: Console, hits: TextHits, *, policy: Policy | None = None, first_stage: str | None = None
) -> None:
    """The hits and the report."""
    if not len(hits):
        console.print("no hits")
    show_hits(console, hits)
    show_report(console, hits, policy=policy, first_stage=first_stage)


def show_hits(console: Console, hits: TextHits, *, lines: int = SNIPPET_LINES) -> None:
    """A heading and a snippet for each hit."""
    width = min(console.width, WIDEST)
    margin = len(str(len(hits)))
    scores = [f"{score:.2f}" for score in hits.scores]
    score_width = max(map(len, scores), default=0)
    indent = margin + score_width + 4
    for rank, score in enumerate(scores):
        hit = hits.hit(rank)
        marks = marks_of(hits.explain(rank))
        name, skip = heading(hit.id, hit.text, hit.metadata)
        title = Text(_cut(name, max(8, width - indent)), "bold")
        for mark in marks:
            if mark.end < skip:
                title.stylize(STYLES[mark.grade], mark.start, mark.end)
        line = Text.assemble((f"{rank + 1:>{margin}}", "dim"), "  ", (f"{score:>{score_width}}", "green"), "  ", title)
        console.print(line, soft_wrap=True)
        body = snippet(hit.text, marks, max(16, width - margin - 2), lines, skip=skip)
        for row in body.split("\n"):
            if row.plain.strip():
                console.print(Text(" " * (margin + 2)).append_text(row), soft_wrap=True)


def show_report(
    console: Console, hits: TextHits, *, policy: Policy | None = None, first_stage: str | None = None
) -> None:
    """One line."""
    console.print(Text(report_line(hits, policy, first_stage), "dim"), soft_wrap=True)


def heading(identity: Any, text: str, metadata: Any) -> tuple[str, int]:
    r"""What to call a document (its title, else its id), and how many characters of its text say the same again.

    >>> heading("d1", "Alpha\nThe first letter.", {"title": "Alpha"})
    ('Alpha (d1)', 6)
    >>> heading("notes/a.md", "The first letter.", None)
    ('notes/a.md', 0)
    """
    title = metadata.get("title") if isinstance(metadata, dict) else None
    if not isinstance(title, str) or not title.strip():
        return str(identity), 0
    title = title.strip()
    skip = len(title) + 1 if text.startswith(f"{title}\n") else 0
    return title if title == str(identity) else f"{title} ({identity})", skip


def _cut(name: str, cells: int) -> str:
    name = printable(name)
    cut = set_cell_size(name, cells).rstrip()
    return name if cut == name else set_cell_size(name, cells - 1).rstrip() + ELLIPSIS

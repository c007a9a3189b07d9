"""What a file's format says about its text: where its headings are, and whether its lines are those of the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_HEADINGS = 1 << 18
"""How many headings of a file are kept at most."""


class Heading(NamedTuple):
    """A heading: where it begins in the text, its level (1 is the outermost), and its title.

    It is above all text up to the next heading of the same or an outer level. A heading without a title ends sections
    and begins none: after the end of a function, for example.
    """

    start: int
    level: int
    title: str


class Outline(NamedTuple):
    """The headings of a text, in order; None means that the text is Markdown, which shows them itself.

    ``lines`` says whether the lines of the text are those of a file. ``joint`` is between the titles above a passage.
    """

    headings: Sequence[Heading] | None = None
    lines: bool = False
    joint: str = " > "


MARKDOWN = Outline()
"""The outline of a text of which nothing is known."""

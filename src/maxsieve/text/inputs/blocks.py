"""Collects the text of a file from blocks, which are paragraphs, headings and pages, and remembers the headings."""

from __future__ import annotations

from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.markup import LONGEST_TITLE
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading

MOST_CHARACTERS = 1 << 26
"""Limit on the characters of a file's text."""


class Blocks:
    r"""A text of blocks.

    >>> blocks = Blocks()
    >>> blocks.heading(1, "Tea")
    >>> blocks.add("Hot.")
    >>> blocks.end("")
    FileText(text='# Tea\n\nHot.', title='', headings=[Heading(start=0, level=1, title='Tea')], by_ocr=0)
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._gap = ""
        self._headings: list[Heading] = []

    def add(self, text: str, gap: str = "\n\n") -> None:
        """Adds a block; ``gap`` is put before the next one."""
        if not (text := text.strip()):
            return
        self._parts += [self._gap, text]
        self._length += len(self._gap) + len(text)
        if self._length > MOST_CHARACTERS:
            raise ValueError(f"it has more than {MOST_CHARACTERS:,} characters of text, the limit")
        self._gap = gap

    def heading(self, level: int, title: str) -> None:
        """Adds a heading."""
        if title := " ".join(title.split()):
            if len(self._headings) < MOST_HEADINGS:
                self._headings.append(Heading(self._length + len(self._gap), level, title[:LONGEST_TITLE]))
            self.add(f"{'#' * min(level, 6)} {title}")

    def insert(self, other: FileText) -> None:
        """Adds a text with its headings."""
        if other.text.strip():
            start = self._length + len(self._gap)
            before = len(other.text) - len(other.text.lstrip())
            moved = [one._replace(start=max(start, start + one.start - before)) for one in other.headings]
            self._headings += moved[: MOST_HEADINGS - len(self._headings)]
            self.add(other.text)

    def end_page(self) -> None:
        """Ends a page, which may be empty."""
        self._parts.append("\f")
        self._length += 1
        self._gap = ""

    def end(self, title: str) -> FileText:
        """The whole text."""
        return FileText("".join(self._parts), " ".join(title.split()), self._headings)

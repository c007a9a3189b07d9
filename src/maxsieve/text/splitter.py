r"""Splits long texts into passages, at headings, paragraphs, lines, sentences or words.

The outline of a text says where its headings are; without one, they are those of Markdown. A form feed ends a page.

A text is split in two at its strongest boundary that leaves enough on both sides; of equally strong boundaries, the one
nearest to the middle is taken. Then each part is split again, until all are short enough. So sections stay whole if
possible, short sections stay together, and a heading is almost never a passage by itself.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.text.inputs.markup import markdown_headings
from maxsieve.text.inputs.outline import MARKDOWN, Heading, Outline

SMALLEST = 4
"""If possible, each side of a cut has at least 1/SMALLEST of a passage."""

EVEN = 32
"""And at least 1/EVEN of the text that is cut, so that the time is not quadratic in the length of a text."""

LONGEST_ATOM = 400
"""Limit on the characters of an atom. A longer sentence is cut at white space, or anywhere if there is none."""

COUNTED = 1024
"""How many atoms are tokenised at a time."""

LONGEST_HEADING = 200
"""Limit on the characters of headings that are put before a passage."""

MOST_SECTIONS = 64
"""How many sections that begin within a passage are named at most."""

DEEPEST = 6
WORD, SENTENCE, LINE, PARAGRAPH, SECTION = range(5)
"""The strengths of boundaries; a heading of level n has SECTION + DEEPEST - n, and deeper ones SECTION."""

_DIVISION = re.compile(
    r"(?P<paragraph>\n[ \t]*\n\s*|\f\s*)|(?P<line>\n\s*)"
    r"|(?P<sentence>(?<=[.!?])[\"')\]\u201d\u2019]*[ \t]+|(?<=[\u3002\uff01\uff1f]))"
)
_WORD = re.compile(r"\S")

CountTokens = Callable[[Sequence[str]], Sequence[int]]


class Sizes(NamedTuple):
    """Token counts: limit of a text that stays whole, limit of a passage, and overlap of two passages."""

    whole: int
    passage: int
    overlap: int


class Slice(NamedTuple):
    """A passage of a text: its offsets and the headings above it; the page and the line of its first word, if known.

    ``sections`` are the sections that begin within it: where, and the headings above them.
    """

    start: int
    end: int
    heading: str = ""
    page: int | None = None
    line: int | None = None
    sections: tuple[tuple[int, str], ...] = ()


def split(
    text: str, sizes: Sizes, count_tokens: CountTokens, title: str = "", outline: Outline = MARKDOWN
) -> list[Slice]:
    r"""The passages of a text, in order. Together they cover the text; each may repeat the end of the one before.

    ``title`` is put above all headings. A text that stays whole has no heading itself, but sections.

    >>> text = "# Tea\nBoil water.\n\n## Green\nNot too hot.\n\n## Black\nBoiling hot. Four minutes.\n"
    >>> for one in split(text, Sizes(8, 8, 0), lambda texts: [len(text.split()) for text in texts]):
    ...     print(repr(text[one.start : one.end]), one.heading)
    '# Tea\nBoil water.\n\n' Tea
    '## Green\nNot too hot.\n\n' Tea > Green
    '## Black\nBoiling hot. Four minutes.\n' Tea > Black
    """
    place = _Place(text, title, outline)
    if len(text.encode(errors="surrogatepass")) <= sizes.whole:  # each token has at least one byte
        return [place.whole()]
    starts, strengths = _atoms(text, outline)
    ends = np.append(starts[1:], len(text))
    total = np.append(0, np.cumsum(_count(text, starts, ends, count_tokens)))
    if total[-1] <= sizes.whole:
        return [place.whole()]
    cuts = _cut(total, strengths, sizes.passage)
    found, before = list[Slice](), -1
    for first, last in pairwise(cuts):
        # The overlap is less than the whole previous passage, and does not cross the start of a section.
        lowest = max(before + 1, int(np.searchsorted(total, total[first] - sizes.overlap)))
        while first > lowest and strengths[first] < SECTION:
            first -= 1
        before = first
        found.append(place.between(int(starts[first]), int(ends[last - 1])))
    return found


def _headings(text: str, outline: Outline) -> Iterator[Heading]:
    return markdown_headings(text) if outline.headings is None else iter(outline.headings)


def _atoms(text: str, outline: Outline) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """The starts of the atoms, which are never cut, and the strength of the boundary before each."""
    starts, strengths = array("q", [0]), array("b", [SECTION + DEEPEST])
    for place, strength in _divisions(text, outline):
        for word in _words(text, starts[-1], place):
            starts.append(word)
            strengths.append(WORD)
        if place == starts[-1]:
            strengths[-1] = strength
        elif place < len(text):
            starts.append(place)
            strengths.append(strength)
    return np.frombuffer(starts, np.int64), np.frombuffer(strengths, np.int8)


def _divisions(text: str, outline: Outline) -> Iterator[tuple[int, int]]:
    """The boundaries of the text and their strengths, up to its end. Of two at one place the last counts."""
    headings = _headings(text, outline)
    heading = next(headings, None)
    for found in _DIVISION.finditer(text):
        while heading is not None and heading.start < found.end():
            yield heading.start, _strength(heading)
            heading = next(headings, None)
        kind = found.lastgroup
        yield found.end(), PARAGRAPH if kind == "paragraph" else LINE if kind == "line" else SENTENCE
    while heading is not None:
        yield heading.start, _strength(heading)
        heading = next(headings, None)
    yield len(text), WORD


def _strength(heading: Heading) -> int:
    return SECTION + DEEPEST - min(heading.level, DEEPEST)


def _words(text: str, start: int, end: int) -> Iterator[int]:
    """Where a piece that is too long is cut."""
    while end - start > LONGEST_ATOM:
        space = max(text.rfind(" ", start, start + LONGEST_ATOM), text.rfind("\t", start, start + LONGEST_ATOM))
        start = space + 1 if space > start else start + LONGEST_ATOM
        yield start


def _count(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64], count_tokens: CountTokens
) -> NDArray[np.int64]:
    """Tokens of each atom."""
    counts = array("q")
    for first in range(0, len(starts), COUNTED):
        some = slice(first, first + COUNTED)
        atoms = zip(starts[some].tolist(), ends[some].tolist(), strict=True)
        counts.extend(count_tokens([text[start:end] for start, end in atoms]))
    return np.frombuffer(counts, np.int64)


def _cut(total: NDArray[np.int64], strengths: NDArray[np.int8], size: int) -> list[int]:
    """The atoms at which passages begin, and the number of atoms; ``total`` are tokens before each atom."""
    cuts = [0]
    pending = [(0, len(strengths))]
    while pending:
        first, last = pending.pop()
        length = int(total[last] - total[first])
        if length <= size or last - first == 1:
            cuts.append(last)
            continue
        inner = slice(first + 1, last)
        before, strong = total[inner] - total[first], strengths[inner]
        least = max(size // SMALLEST, length // EVEN)
        allowed = (before >= least) & (length - before >= least)
        if allowed.any():
            strong = np.where(allowed, strong, -1)
        strongest = np.flatnonzero(strong == strong.max())
        distance = before[strongest]
        np.abs(np.subtract(2 * distance, length, out=distance), out=distance)
        middle = first + 1 + int(strongest[np.argmin(distance)])
        pending += [(middle, last), (first, middle)]
    return cuts


class _Place:
    """A cursor in a text that moves forward: the headings above it, its page and its line."""

    def __init__(self, text: str, title: str, outline: Outline) -> None:
        self._text, self._title, self._heading, self._joint = text, title, title, outline.joint
        self._named = self._name(_headings(text, outline))
        self._ahead: deque[tuple[int, str]] = deque()
        self._pages = _Count(text, "\f") if "\f" in text else None
        self._lines = _Count(text, "\n") if outline.lines else None

    def whole(self) -> Slice:
        """The whole text as one passage."""
        one = self.between(0, len(self._text))
        first = ((0, one.heading),) if one.heading != self._title else ()
        return one._replace(heading="", sections=(*first, *one.sections))

    def between(self, start: int, end: int) -> Slice:
        """The passage from ``start``, which is not before the last one, to ``end``."""
        while (not self._ahead or self._ahead[-1][0] < end) and (named := next(self._named, None)) is not None:
            self._ahead.append(named)
        while self._ahead and self._ahead[0][0] <= start:
            self._heading = self._ahead.popleft()[1]
        sections = list[tuple[int, str]]()
        for offset, heading in self._ahead:
            if offset >= end or len(sections) == MOST_SECTIONS:
                break
            sections.append((offset - start, heading))
        found = _WORD.search(self._text, start, end)
        word = found.start() if found else start
        page, line = (count.before(word) + 1 if count else None for count in (self._pages, self._lines))
        return Slice(start, end, self._heading, page, line, tuple(sections))

    def _name(self, headings: Iterator[Heading]) -> Iterator[tuple[int, str]]:
        """Where each section begins, and its headings from the outermost to the innermost."""
        path: list[Heading] = []
        for heading in headings:
            while path and path[-1].level >= heading.level:
                path.pop()
            if heading.title:
                path.append(heading)
            names = [outer.title for outer in path]
            first = [self._title] if self._title and names[:1] != [self._title] else []
            own = [self._joint.join(names)] if names else []
            yield heading.start, " > ".join(first + own)[:LONGEST_HEADING]


class _Count:
    """Counts a character in a text up to an offset, which may only grow."""

    def __init__(self, text: str, character: str) -> None:
        self._text, self._character = text, character
        self._upto = self._count = 0

    def before(self, offset: int) -> int:
        """How many there are before the offset."""
        if offset > self._upto:
            self._count += self._text.count(self._character, self._upto, offset)
            self._upto = offset
        return self._count

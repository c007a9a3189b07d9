r"""Splits long texts into passages, at headings, paragraphs, lines, sentences or words.

Readers of all formats follow these conventions: a line that starts with ``#`` to ``######`` and a space is a heading,
as in Markdown (not within a fence of three backticks), and a form feed ends a page.

A text is split in two at its strongest boundary that leaves enough on both sides; of equally strong boundaries, the one
nearest to the middle is taken. Then each part is split again, until all are short enough. So sections stay whole if
possible, short sections stay together, and a heading is almost never a passage by itself.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

WORD, SENTENCE, LINE, PARAGRAPH, SECTION = range(5)
"""The strengths of boundaries; a heading of level n has SECTION + 6 - n."""

_DIVISION = re.compile(
    r"(?P<paragraph>\n[ \t]*\n\s*|\f\s*)|(?P<line>\n\s*)"
    r"|(?P<sentence>(?<=[.!?])[\"')\]\u201d\u2019]*[ \t]+|(?<=[\u3002\uff01\uff1f]))"
)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)

_WORD = re.compile(r"\S")

CountTokens = Callable[[Sequence[str]], Sequence[int]]


class Sizes(NamedTuple):
    """Token counts: limit of a text that stays whole, limit of a passage, and overlap of two passages."""

    whole: int
    passage: int
    overlap: int


class Slice(NamedTuple):
    """A passage of a text: its offsets, the headings above it, and its page, if the text has pages."""

    start: int
    end: int
    heading: str
    page: int | None


class _Heading(NamedTuple):
    start: int
    level: int
    title: str


def split(text: str, sizes: Sizes, count_tokens: CountTokens, title: str = "") -> list[Slice]:
    r"""The passages of a text, in order. Together they cover the text; each may repeat the end of the one before.

    ``title`` is put above all headings.

    >>> text = "# Tea\nBoil water.\n\n## Green\nNot too hot.\n\n## Black\nBoiling hot. Four minutes.\n"
    >>> for one in split(text, Sizes(8, 8, 0), lambda texts: [len(text.split()) for text in texts]):
    ...     print(repr(text[one.start : one.end]), one.heading)
    '# Tea\nBoil water.\n\n' Tea
    '## Green\nNot too hot.\n\n' Tea > Green
    '## Black\nBoiling hot. Four minutes.\n' Tea > Black
    """
    if len(text.encode(errors="surrogatepass")) <= sizes.whole:  # each token has at least one byte
        return [Slice(0, len(text), "", None)]
    starts, strengths = _atoms(text)
    ends = np.append(starts[1:], len(text))
    total = np.append(0, np.cumsum(_count(text, starts, ends, count_tokens)))
    if total[-1] <= sizes.whole:
        return [Slice(0, len(text), "", None)]
    cuts = _cut(total, strengths, sizes.passage)
    found, place, before = list[Slice](), _Place(text, title), -1
    for first, last in pairwise(cuts):
        # The overlap is less than the whole previous passage, and does not cross the start of a section.
        lowest = max(before + 1, int(np.searchsorted(total, total[first] - sizes.overlap)))
        while first > lowest and strengths[first] < SECTION:
            first -= 1
        before = first
        start = int(starts[first])
        place.advance(start)
        found.append(Slice(start, int(ends[last - 1]), place.heading, place.page))
    return found


def _headings(text: str) -> Iterator[_Heading]:
    """The headings outside of code, found lazily: a text may consist of headings only."""
    code = _fenced(text)
    start, end = next(code, (len(text), len(text)))
    for found in _HEADING.finditer(text):
        while found.start() >= end:
            start, end = next(code, (len(text), len(text) + 1))
        if found.start() < start:
            yield _Heading(found.start(), len(found[1]), found[2].rstrip("# \t\r")[:LONGEST_HEADING])


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """The spans of fenced code; a fence that is never closed reaches to the end."""
    opened: tuple[int, str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence.start(), fence[1]
        elif fence[1].startswith(opened[1]):
            yield opened[0], fence.end()
            opened = None
    if opened is not None:
        yield opened[0], len(text)


def _atoms(text: str) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """The starts of the atoms, which are never cut, and the strength of the boundary before each."""
    starts, strengths = array("q", [0]), array("b", [SECTION + 6])
    for place, strength in _divisions(text):
        for word in _words(text, starts[-1], place):
            starts.append(word)
            strengths.append(WORD)
        if place == starts[-1]:
            strengths[-1] = strength
        elif place < len(text):
            starts.append(place)
            strengths.append(strength)
    return np.frombuffer(starts, np.int64), np.frombuffer(strengths, np.int8)


def _divisions(text: str) -> Iterator[tuple[int, int]]:
    """The boundaries of the text and their strengths, up to its end. Of two at one place the last counts."""
    headings = _headings(text)
    heading = next(headings, None)
    for found in _DIVISION.finditer(text):
        while heading is not None and heading.start < found.end():
            yield heading.start, SECTION + 6 - heading.level
            heading = next(headings, None)
        kind = found.lastgroup
        yield found.end(), PARAGRAPH if kind == "paragraph" else LINE if kind == "line" else SENTENCE
    while heading is not None:
        yield heading.start, SECTION + 6 - heading.level
        heading = next(headings, None)
    yield len(text), WORD


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
    """A cursor in a text that moves forward: the headings above it, and its page."""

    def __init__(self, text: str, title: str) -> None:
        self._text, self._title = text, title
        self._headings, self._path = _headings(text), list[_Heading]()
        self._next = next(self._headings, None)
        self._counted, self._pages = 0, 1

    def advance(self, start: int) -> None:
        """Moves to an offset, at which a heading may begin; the page is that of the next word."""
        while (heading := self._next) is not None and heading.start <= start:
            self._path = [*(outer for outer in self._path if outer.level < heading.level), heading]
            self._next = next(self._headings, None)
        word = _WORD.search(self._text, start)
        if word and word.start() > self._counted:
            self._pages += self._text.count("\f", self._counted, word.start())
            self._counted = word.start()

    @property
    def heading(self) -> str:
        """The headings from the outermost to the innermost."""
        names = [heading.title for heading in self._path]
        if self._title and names[:1] != [self._title]:
            names.insert(0, self._title)
        return " > ".join(names)[:LONGEST_HEADING]

    @property
    def page(self) -> int | None:
        """From 1; None in a text without pages."""
        return self._pages if "\f" in self._text else None

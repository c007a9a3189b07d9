r"""Long texts become passages, cut where the text itself is divided: at headings, paragraphs, lines, sentences, words.

Conventions that readers of all formats keep to: a line that starts with ``#`` to ``######`` and a space is a heading,
as in Markdown (not within a fence of three backticks), and a form feed ends a page.

A text is cut in two, at the strongest division that leaves something on both sides, and of equally strong ones at that
nearest to the middle; then each part again, until all are short enough. So sections stay whole where they can, short
ones stay together, and a heading is hardly ever a passage by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SMALLEST = 4
"""No side of a cut is below so small a share of a passage, if that can be helped."""

EVEN = 32
"""Nor below so small a share of what is cut, so that the work grows with the length of a text and not its square."""

LONGEST_ATOM = 400
"""Characters that are not cut; more without a sentence's end are cut at white space, or anywhere if there is none."""

COUNTED = 1024
"""Atoms whose tokens are counted at a time."""

LONGEST_HEADING = 200
"""Characters of headings that are put before a passage."""

WORD, SENTENCE, LINE, PARAGRAPH, SECTION = range(5)
"""How strong a division is; a heading of level n has SECTION + 6 - n."""

_DIVISION = re.compile(
    r"(?P<paragraph>\n[ \t]*\n\s*|\f\s*)|(?P<line>\n\s*)"
    r"|(?P<sentence>(?<=[.!?])[\"')\]\u201d\u2019]*[ \t]+|(?<=[\u3002\uff01\uff1f]))"
)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)

_WORD = re.compile(r"\S")

CountTokens = Callable[[Sequence[str]], Sequence[int]]


class Sizes(NamedTuple):
    """Tokens: of a text that stays whole, of a passage of a longer one at most, and that two passages share."""

    whole: int
    passage: int
    overlap: int


class Slice(NamedTuple):
    """A passage of a text: where it stands, the headings it is under, and the page, if the text has pages."""

    start: int
    end: int
    heading: str
    page: int | None


class _Heading(NamedTuple):
    start: int
    level: int
    title: str


def split(text: str, sizes: Sizes, count_tokens: CountTokens, title: str = "") -> list[Slice]:
    r"""The passages of a text, in order. Together they are all of it; each may repeat the end of the one before.

    ``title`` is what all headings are under.

    >>> text = "# Tea\nBoil water.\n\n## Green\nNot too hot.\n\n## Black\nBoiling hot. Four minutes.\n"
    >>> for one in split(text, Sizes(8, 8, 0), lambda texts: [len(text.split()) for text in texts]):
    ...     print(repr(text[one.start : one.end]), one.heading)
    '# Tea\nBoil water.\n\n' Tea
    '## Green\nNot too hot.\n\n' Tea > Green
    '## Black\nBoiling hot. Four minutes.\n' Tea > Black
    """
    if len(text.encode(errors="surrogatepass")) <= sizes.whole:  # no token is shorter than a byte
        return [Slice(0, len(text), "", None)]
    headings = list(_headings(text))
    starts, strengths = _atoms(text, headings)
    ends = np.append(starts[1:], len(text))
    tokens = _count(text, starts, ends, count_tokens)
    total = np.append(0, np.cumsum(tokens))
    if total[-1] <= sizes.whole:
        return [Slice(0, len(text), "", None)]
    cuts = _cut(total, strengths, sizes.passage)
    found, place, before = list[Slice](), _Place(text, headings, title), -1
    for first, last in pairwise(cuts):
        # What is repeated is not all of the passage before, and ends where a section begins.
        lowest = max(before + 1, int(np.searchsorted(total, total[first] - sizes.overlap)))
        while first > lowest and strengths[first] < SECTION:
            first -= 1
        before = first
        start = int(starts[first])
        place.advance(start)
        found.append(Slice(start, int(ends[last - 1]), place.heading, place.page))
    return found


def _headings(text: str) -> Iterator[_Heading]:
    """The headings outside of code."""
    code = list(_fenced(text))
    opens = [start for start, _ in code]
    for found in _HEADING.finditer(text):
        place = bisect_right(opens, found.start()) - 1
        if place < 0 or found.start() >= code[place][1]:
            yield _Heading(found.start(), len(found[1]), found[2].rstrip("# \t\r")[:LONGEST_HEADING])


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Where code stands between fences; one that is never closed reaches to the end."""
    opened: tuple[int, str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence.start(), fence[1]
        elif fence[1].startswith(opened[1]):
            yield opened[0], fence.end()
            opened = None
    if opened is not None:
        yield opened[0], len(text)


def _atoms(text: str, headings: Sequence[_Heading]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the pieces begin that are never cut, and how strong the division before each is."""
    divisions = {0: SECTION + 6}
    for found in _DIVISION.finditer(text):
        kind = found.lastgroup
        strength = PARAGRAPH if kind == "paragraph" else LINE if kind == "line" else SENTENCE
        divisions.setdefault(found.end(), strength)
    divisions |= {one.start: SECTION + 6 - one.level for one in headings}
    divisions.pop(len(text), None)
    starts, strengths = list[int](), list[int]()
    places = sorted(divisions)
    for start, end in zip(places, [*places[1:], len(text)], strict=True):
        starts.append(start)
        strengths.append(divisions[start])
        while end - start > LONGEST_ATOM:
            space = max(text.rfind(" ", start, start + LONGEST_ATOM), text.rfind("\t", start, start + LONGEST_ATOM))
            start = space + 1 if space > start else start + LONGEST_ATOM
            starts.append(start)
            strengths.append(WORD)
    return np.array(starts, np.int64), np.array(strengths, np.int64)


def _count(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64], count_tokens: CountTokens
) -> NDArray[np.int64]:
    """Tokens of each atom."""
    atoms = (text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
    counts: list[int] = []
    while some := list(islice(atoms, COUNTED)):
        counts += count_tokens(some)
    return np.array(counts, np.int64)


def _cut(total: NDArray[np.int64], strengths: NDArray[np.int64], size: int) -> list[int]:
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
        middle = first + 1 + int(strongest[np.argmin(np.abs(before[strongest] - length / 2))])
        pending += [(middle, last), (first, middle)]
    return cuts


class _Place:
    """A place in a text, moved from its beginning on: the headings that it is under, and its page."""

    def __init__(self, text: str, headings: Sequence[_Heading], title: str) -> None:
        self._text, self._headings, self._title = text, headings, title
        self._next, self._path = 0, list[_Heading]()
        self._counted, self._pages = 0, 1

    def advance(self, start: int) -> None:
        """Moves to a place, at which a heading may begin; its page is that of the first word."""
        while self._next < len(self._headings) and self._headings[self._next].start <= start:
            one = self._headings[self._next]
            self._path = [*(outer for outer in self._path if outer.level < one.level), one]
            self._next += 1
        word = _WORD.search(self._text, start)
        if word and word.start() > self._counted:
            self._pages += self._text.count("\f", self._counted, word.start())
            self._counted = word.start()

    @property
    def heading(self) -> str:
        """The headings, one in the other."""
        names = [one.title for one in self._path]
        if self._title and names[:1] != [self._title]:
            names.insert(0, self._title)
        return " > ".join(names)[:LONGEST_HEADING]

    @property
    def page(self) -> int | None:
        """From 1; None in a text without pages."""
        return self._pages if "\f" in self._text else None

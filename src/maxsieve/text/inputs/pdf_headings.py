"""The headings of a PDF: the entries of its outline, or else lines in larger letters than the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from maxsieve.text.inputs.markup import LONGEST_TITLE
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading

LARGER = 1.12
"""A heading is at least this many times as large as the text."""

MOST_LARGE = 0.2
"""If more than this share of all letters is large, they are not all headings: code may be in smaller letters."""

MOST_LINES = 3
REPEATED = 3
"""A line that is on this many pages is no heading, but the title that each page repeats."""

SLACK = 3.0
"""By how many points a heading may be above the place that the outline names."""

LEVELS = 6
_WORDS = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]")
_LEADERS = re.compile(r"(?:\. ?){4}")
"""Dots between a title and its page, in a table of contents."""


class PdfPiece(NamedTuple):
    """A piece of a page's text, its height on the page and the size of its letters, in points."""

    text: str
    height: float
    size: float


class Line(NamedTuple):
    """A line of a page: where it begins in the page's text, and its height and size, which most of its letters have."""

    start: int
    text: str
    height: float
    size: float


class Target(NamedTuple):
    """An entry of an outline: its level and title, the number of its page from 0, and the height, if it says it."""

    level: int
    title: str
    page: int
    height: float | None


class Page(NamedTuple):
    """The text of a page, and its lines that are not blank."""

    text: str
    lines: list[Line]

    @classmethod
    def of(cls, text: str, pieces: Sequence[PdfPiece]) -> Page:
        """A page of pieces. If they are not its text, there is nothing to know about its lines."""
        stripped = text.strip()
        shift = len(text) - len(text.lstrip())
        if sum(len(piece.text) for piece in pieces) != len(text):
            return cls(stripped, [])
        starts = list(accumulate((len(piece.text) for piece in pieces), initial=0))
        lines: list[Line] = []
        for found in re.finditer(r"\S[^\n]*", text):
            first = bisect_right(starts, found.start()) - 1
            weights: Counter[tuple[float, float]] = Counter()
            while first < len(pieces) and starts[first] < found.end():
                inside = min(starts[first + 1], found.end()) - max(starts[first], found.start())
                weights[pieces[first].height, pieces[first].size] += inside
                first += 1
            (height, size), _ = weights.most_common(1)[0]
            lines.append(Line(found.start() - shift, found[0].strip(), height, round(size, 1)))
        return cls(stripped, lines)


def by_outline(pages: Sequence[Page], targets: Sequence[Target]) -> list[Heading]:
    """The entries of the outline as headings: where the page has the title, else at the height that the entry names."""
    before = [0, *accumulate(len(page.text) + 1 for page in pages)]
    found = [
        Heading(before[target.page] + _place(pages[target.page], target), target.level, target.title[:LONGEST_TITLE])
        for target in targets
        if target.title
    ]
    return sorted(found, key=lambda heading: heading.start)


def _place(page: Page, target: Target) -> int:
    """Where an entry of the outline is on its page: of the lines with its title, the nearest to the named height."""
    lines = [page.lines[number] for number in _with_title(page, target.title)]
    height = target.height
    if height is None:
        return next((line.start for line in lines), 0)
    below = [line for line in lines if line.height <= height + SLACK]
    if below:
        return max(below, key=lambda line: line.height).start
    if lines:
        return min(lines, key=lambda line: abs(line.height - height)).start
    return next((line.start for line in page.lines if line.height <= height + SLACK), 0)


def _with_title(page: Page, title: str) -> list[int]:
    """The numbers of the lines on which the title begins. Spaces don't count: extraction adds and loses some."""
    words = _WORDS.findall(title)[:40]
    if not words:
        return []
    pattern = re.compile(r"\s*".join(map(re.escape, words)), re.IGNORECASE)
    starts = [line.start for line in page.lines]
    return [bisect_right(starts, found.start()) - 1 for found in pattern.finditer(page.text) if starts]


def by_size(pages: Sequence[Page]) -> list[Heading]:
    """Lines in larger letters than those of the text. The sizes make the levels; consecutive lines are one heading."""
    letters: Counter[float] = Counter()
    texts: Counter[str] = Counter()
    for page in pages:
        for line in page.lines:
            letters[line.size] += len(line.text)
        texts.update({_repeatable(line.text) for line in page.lines})
    if not letters:
        return []
    large = _larger(letters)
    found: list[tuple[int, float, str]] = []
    start = 0
    for page in pages:
        for size, group in groupby(page.lines, lambda line: line.size):
            lines = list(group)
            title = " ".join(line.text for line in lines)
            if size not in large or len(lines) > MOST_LINES or len(title) > LONGEST_TITLE:
                continue
            if not _LETTERS.search(title) or _LEADERS.search(title):
                continue
            if any(texts[_repeatable(line.text)] >= REPEATED for line in lines):
                continue
            found.append((start + lines[0].start, size, title))
        start += len(page.text) + 1
    sizes = sorted({size for _, size, _ in found}, reverse=True)
    levels = defaultdict(lambda: LEVELS, {size: level for level, size in enumerate(sizes[:LEVELS], start=1)})
    return [Heading(place, levels[size], title) for place, size, title in found[:MOST_HEADINGS]]


def _larger(letters: Counter[float]) -> set[float]:
    """The sizes that are larger than the text, which has the commonest size unless too much is larger."""
    body = letters.most_common(1)[0][0]
    while True:
        larger = {size for size in letters if size >= body * LARGER}
        if sum(letters[size] for size in larger) <= MOST_LARGE * letters.total():
            return larger
        body = min(larger)


def _repeatable(text: str) -> str:
    """A line without digits: what is repeated on many pages may contain their numbers."""
    return re.sub(r"\d+", "", text)

"""Makes the lists of segments.

Documents that are added have no lists until `list_segments` makes a part of them; a search follows them all up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from maxsieve import _core
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.lists import BLOCK, SegmentLists
from maxsieve.storage.segments import S, Segment

MOST_TOKENS = 1 << 30
"""A part of more tokens is not made larger: a list has starts of four bytes."""


def whole_parts(segments: Sequence[Segment]) -> list[tuple[int, SegmentLists]]:
    """The parts of which all segments are still here, with the number of the first.

    A part of which segments were merged or removed is of no use.
    """
    parts, first = [], 0
    for _, run in groupby(segments, lambda segment: id(segment.lists)):
        same = list(run)
        lists = same[0].lists
        if lists is not None and lists.segments == len(same):
            parts.append((first, lists))
        first += len(same)
    return parts


def list_segments(book: Codebook, segments: Sequence[S], threads: int) -> list[S]:
    """The segments, all with lists: those that have none get a part. Residuals of another codebook get none.

    Small parts before it are made again together with it: a document is listed about log2(documents) times in all, and
    the parts stay few.
    """
    parts = dict(whole_parts(segments))
    listed = list(segments)
    place = 0
    done: list[tuple[int, int, int]] = []  # first segment, number of segments, and tokens of each part so far
    while place < len(segments):
        if place in parts:
            count = parts[place].segments
            done.append((place, count, sum(segment.tokens for segment in segments[place : place + count])))
            place += count
            continue
        first = place
        while place < len(segments) and place not in parts and book.fits(segments[place]):
            place += 1
        if place == first:
            place += 1
            done.clear()
            continue
        tokens = sum(segment.tokens for segment in segments[first:place])
        while done and done[-1][2] <= tokens and done[-1][2] + tokens <= MOST_TOKENS:
            first, _, before = done.pop()
            tokens += before
        if any(segment.documents for segment in segments[first:place]):
            made = make_lists(book, segments[first:place], threads)
            listed[first:place] = [segment.changed(lists=made) for segment in segments[first:place]]
        done.append((first, place - first, tokens))
    return listed


def make_lists(book: Codebook, segments: Sequence[Segment], threads: int) -> SegmentLists:
    """The lists of some segments, of which at least one has a document."""
    book.check()
    for segment in segments:
        segment.check()
    natives = tuple(segment.native for segment in segments)
    made = _core.make_lists(book.native, natives, BLOCK, book.probes or 1, threads)
    return SegmentLists(len(segments), sum(segment.documents for segment in segments), book.centroids, *made)

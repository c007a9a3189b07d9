"""Makes the lists of segments, when these are sealed.

Small segments at the end of an index are merged when others are added (`merge_small`). A segment that is too large for
that is sealed. If the index has a codebook of lists, its documents get lists in the same commit. Smaller ones get them
with an update of the calibrations, so that no list is thrown away, and adding a document costs next to nothing.

A calibration does not know new documents, whether or not they have lists. Until it is brought up to date, a search
gives places to the documents before `Snapshot.since` alone, and follows up all others, and those without lists
(`Snapshot.added_since`). So a list of new documents takes no place from an old one, as the claim on growth needs it
(docs/theory.md, section 10), and is not even read.
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


def count_sealed(segments: Sequence[Segment], most_bytes: int) -> int:
    """How many of the first segments no later one will be merged with, if segments are merged up to so many bytes.

    A segment is merged with a later one of at least half its size: not if it has more than two thirds of the limit, or
    lists. Then the segments before it can't be merged either, because only neighbours are.
    """
    ends = (i for i, one in enumerate(segments, 1) if one.lists is not None or 3 * one.nbytes > 2 * most_bytes)
    return max(ends, default=0)


def list_segments(book: Codebook, segments: Sequence[S], threads: int) -> list[S]:
    """The segments, all with lists: those that have none get a part. Residuals of another codebook get none.

    Small parts before it are merged with it: a list is copied about log2(documents) times in all, and the parts stay
    few. A token is named once.
    """
    parts = dict(whole_parts(segments))
    listed = list(segments)
    place = 0
    before: list[tuple[int, int, SegmentLists]] = []  # the parts just before: their first segment, tokens, and lists
    while place < len(segments):
        first = place
        if place in parts:
            place += parts[place].segments
            before.append((first, _tokens(segments[first:place]), parts[first]))
            continue
        while place < len(segments) and place not in parts and book.fits(segments[place]):
            place += 1
        if not any(segment.documents for segment in segments[first:place]):
            place = max(place, first + 1)
            before.clear()
            continue
        made, tokens = [make_lists(book, segments[first:place], threads)], _tokens(segments[first:place])
        while before and before[-1][1] <= tokens and before[-1][1] + tokens <= MOST_TOKENS:
            first, more, lists = before.pop()
            made, tokens = [lists, *made], tokens + more
        together = made[0] if len(made) == 1 else SegmentLists.merge(made)
        listed[first:place] = [segment.changed(lists=together) for segment in segments[first:place]]
        before.append((first, tokens, together))
    return listed


def _tokens(segments: Sequence[Segment]) -> int:
    return sum(segment.tokens for segment in segments)


def make_lists(book: Codebook, segments: Sequence[Segment], threads: int) -> SegmentLists:
    """The lists of some segments, of which at least one has a document."""
    book.check()
    for segment in segments:
        segment.check()
    natives = tuple(segment.native for segment in segments)
    made = _core.make_lists(book.native, natives, BLOCK, book.probes or 1, threads)
    return SegmentLists(len(segments), sum(segment.documents for segment in segments), book.centroids, *made)

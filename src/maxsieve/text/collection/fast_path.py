"""When texts are searched by `Calibrated` though no policy was given: the rule, by counts, in one place.

A search is exact if that takes a few milliseconds. Otherwise it is by `Calibrated(0.99)`, if the collection has a
calibration that holds for it and leaves most passages alone, and the query is as long as those of the calibration.
docs/theory.md, section 10, says why this choice
breaks no guarantee, and docs/text.md what real queries find after calibrating on sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from maxsieve.calibrated import followed_up
from maxsieve.groups import GroupBy
from maxsieve.options import SearchOptions
from maxsieve.policies import CERTIFIED, Calibrated, Policy
from maxsieve.storage.calibration import calibration_for
from maxsieve.storage.storage import AnySnapshot

PROMISED = Calibrated(0.99)
"""The policy of the fast path."""

NUMBERS = 10_000_000
"""Numbers of codes that `Certified` reads in a millisecond, in one thread: 8 million with AVX2 and 13 million with
AVX-512 for a query of 32 tokens (`python -m benchmarks.runs.dimensions`, docs/performance.md)."""

QUICK = 5.0
"""Milliseconds: a search that takes no more is exact."""

SAVING = 4
"""The fast path is taken if it follows up at most one of so many passages. It reads lists besides."""

EXPECTED = 300
"""Passages that a search for 10 follows up, before that is measured: 170 to 270 on three corpora (docs/text.md)."""

SECONDS = 30e-9
"""Of CPU time, for each number of the codes, to make codebook and lists and to calibrate on 200 sentences. For
hotpotqa_1k, with 438 million numbers, `maxsieve calibrate` takes 13 s in all."""


class Outlook(NamedTuple):
    """What a calibration would gain and take, by counts: nothing was measured."""

    milliseconds: float
    """The time of an exact search."""
    seconds: float
    """The CPU time of calibrating."""
    pays: bool

    @classmethod
    def of(cls, snapshot: AnySnapshot) -> Outlook:
        """That of a version of a collection."""
        numbers = snapshot.n_tokens * snapshot.layout.dim
        milliseconds = numbers / NUMBERS
        pays = milliseconds > QUICK and snapshot.n_searchable >= SAVING * EXPECTED
        return cls(milliseconds, numbers * SECONDS, pays)


class FollowUp(NamedTuple):
    """How many passages a search by the fast path follows up, of those that it is about."""

    passages: int
    of: int

    @property
    def is_few(self) -> bool:
        """Whether it is worth it."""
        return SAVING * self.passages <= self.of

    @classmethod
    def find(
        cls, options: SearchOptions, snapshot: AnySnapshot, queries: int, group_by: GroupBy | None
    ) -> FollowUp | None:
        """That of a search; None if no calibration holds for it."""
        where, of = options.where.of(0), snapshot.n_searchable
        count = followed_up(replace(options, policy=PROMISED), snapshot, queries, group_by)
        calibration = calibration_for(where, snapshot.calibrations)
        if count is None or calibration is None:
            return None
        if where is not None:  # those that match: when it was calibrated, and at most all new ones
            of = min(of, calibration.documents + snapshot.changes.added)
        return cls(min(count, of), of)


def default_policies(
    options: SearchOptions, snapshot: AnySnapshot, lengths: Sequence[int], group_by: GroupBy | None
) -> list[Policy]:
    """The policy of each of some queries, of so many tokens, for which none was given.

    It depends on counts and options alone. A query with fewer or more tokens than all calibration queries is not like
    them, and answered exactly: after calibrating on sentences, single words would find too little (docs/text.md).
    """
    numbers = snapshot.n_tokens * snapshot.layout.dim
    if numbers <= QUICK * NUMBERS:
        return [CERTIFIED] * len(lengths)
    found = FollowUp.find(options, snapshot, len(lengths), group_by)
    calibration = calibration_for(options.where.of(0), snapshot.calibrations)
    if found is None or calibration is None or not found.is_few:
        return [CERTIFIED] * len(lengths)
    if numbers * found.of / snapshot.n_searchable <= QUICK * NUMBERS:
        return [CERTIFIED] * len(lengths)
    fewest, most = calibration.lengths.min(), calibration.lengths.max()
    return [PROMISED if fewest <= length <= most else CERTIFIED for length in lengths]

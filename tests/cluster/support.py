"""One index and one in shards, with the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import maxsieve as ms
from index.support import bits

POLICIES: tuple[Any, ...] = (
    ms.Certified(),
    ms.Exhaustive(),
    ms.Bandit(),
    ms.Bandit(alpha=0.1, margin=0, block=1),
    ms.Bandit(alpha=1.0, delta=0.05, margin=20, block=3, seed=7, radius="serfling"),
)


def answer(hits: ms.Hits, *, rescored: bool = False) -> tuple[Any, ...]:
    """The parts of an answer that must not depend on the number of shards and members.

    The number of documents that `Certified` rescores may differ: a member can't know the scores that another has just
    found.
    """
    report = hits.report
    always = bits(hits), report.guarantee, report.coverage, report.rounds, report.survivors
    return (*always, report.calibrated_on, report.added, report.deleted, *([report.rescored] if rescored else []))


def compare(
    one: ms.Index, sharded: Any, queries: Sequence[Any], k: int, policies: Sequence[Any], **options: Any
) -> None:
    """Asserts that both give the same answers to all queries under all policies."""
    for policy in policies:
        expected = one.search_many(queries, k, policy=policy, **options)
        found = sharded.search_many(queries, k, policy=policy, **options)
        for number, (want, got) in enumerate(zip(expected, found, strict=True)):
            assert answer(got) == answer(want), f"query {number} under {policy}, k = {k}"
            assert got.report.missing == ()

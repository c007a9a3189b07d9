"""In a batch, each query gets the same answer as alone, and a document is read once for many queries."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.policies import Policy

POLICIES = [ms.Certified(), ms.Exhaustive(), ms.Bandit(), ms.Bandit(alpha=1, radius="serfling", block=7, margin=0)]
DIM = 40


@pytest.fixture(scope="module")
def index() -> ms.Index:
    rng = np.random.default_rng(11)
    return ms.Index.build([rng.standard_normal((int(rng.integers(0, 50)), DIM)) for _ in range(300)])


def queries(lengths: list[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(12)
    return [rng.standard_normal((length, DIM)).astype(np.float32) for length in lengths]


def essence(hits: ms.Hits) -> tuple[object, ...]:
    report = hits.report
    return hits.ids, hits.scores.tobytes(), report.guarantee, report.coverage, report.rescored, report.rounds


# One query longer than a group may be; groups that end at the limit and one after it; tokens that don't fill a vector.
LENGTHS = [[3, 1, 7, 5, 33], [1100, 2], [512, 512, 1], [1023, 1, 1], [32] * 70]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)} queries of {lengths[0]}")
def test_same_as_one_by_one(index: ms.Index, lengths: list[int], policy: Policy) -> None:
    batch = queries(lengths)
    expected = [essence(index.search(query, 7, policy=policy, threads=1)) for query in batch]
    for threads in (1, 3):
        assert [essence(hits) for hits in index.search_many(batch, 7, policy=policy, threads=threads)] == expected


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_candidates_of_their_own(index: ms.Index, policy: Policy, isa: str) -> None:
    batch = queries([9, 4, 4, 12, 6])
    few, none, one = [5, 17, 80, 81, 250], [], [7]
    candidates = [few, few, None, none, one]
    exclude = [None, [17], [3], None, None]
    expected = [
        essence(index.search(query, 3, policy=policy, candidates=chosen, exclude=unwanted))
        for query, chosen, unwanted in zip(batch, candidates, exclude, strict=True)
    ]
    many = index.search_many(batch, 3, policy=policy, candidates=candidates, exclude=exclude)
    assert [essence(hits) for hits in many] == expected


def test_one_scan_for_a_group(index: ms.Index) -> None:
    # The queries of a group share its one scan equally. Separate scans would never take the same nanoseconds.
    shares = [hits.report.stages["scan"] for hits in index.search_many(queries([32] * 64), 5, threads=1)]
    assert len(set(shares[:32])) == 1
    assert len(set(shares[32:])) == 1
    assert shares[0] != shares[32]

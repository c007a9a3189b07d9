"""The number of threads changes only the time."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from long_form import scaled
from maxsieve.common.threads import thread_count


@pytest.fixture(scope="module")
def collection() -> tuple[ms.Index, list[np.ndarray]]:
    rng = np.random.default_rng(3)
    documents = [rng.standard_normal((int(rng.integers(0, 60)), 32)).astype(np.float32) for _ in range(700)]
    queries = [rng.standard_normal((int(rng.integers(1, 40)), 32)).astype(np.float32) for _ in range(5)]
    return ms.Index.build(documents), queries


POLICIES = [ms.Certified(), ms.Exhaustive(), ms.Bandit(), ms.Bandit(alpha=1, radius="serfling", block=7)]


def essence(hits: ms.Hits) -> tuple[object, ...]:
    report = hits.report
    return hits.ids, hits.scores.tobytes(), report.guarantee, report.coverage, report.rescored, report.rounds


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_same_bits_with_1_2_and_8_threads(collection, policy, isa) -> None:
    index, queries = collection
    expected = [essence(index.search(query, 20, policy=policy, threads=1)) for query in queries]
    repeats = scaled(100) if isa == ms.isas()[0] else 10
    for repeat in range(repeats):
        threads = (1, 2, 8)[repeat % 3]
        query = repeat % len(queries)
        assert essence(index.search(queries[query], 20, policy=policy, threads=threads)) == expected[query]
    for threads in (1, 2, 8):
        many = index.search_many(queries, 20, policy=policy, threads=threads)
        assert [essence(hits) for hits in many] == expected


def test_build_does_not_depend_on_threads(isa: str) -> None:
    rng = np.random.default_rng(4)
    documents = [rng.standard_normal((int(rng.integers(0, 30)), 20)).astype(np.float32) for _ in range(200)]
    one, eight = (ms.Index.build(documents, threads=threads).storage.snapshot.segments for threads in (1, 8))
    for a, b in zip(one, eight, strict=True):
        assert [x.tobytes() for x in a.arrays] == [x.tobytes() for x in b.arrays]


def test_default_threads_respect_affinity() -> None:
    import os

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert 1 <= thread_count(None) <= allowed

"""A corpus in shards gives the answers of one index with the same documents in the same order, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from cluster.support import POLICIES, answer, compare
from index.support import Rows, eighths, query_of

Build = Callable[..., ms.Index]
QUERIES = [query_of(seed, tokens) for seed, tokens in enumerate((1, 3, 9, 4))]
LAYOUTS = [
    pytest.param(1, 1, id="1 shard"),
    pytest.param(2, 1, id="2 shards"),
    pytest.param(3, 1, id="3 shards"),
    pytest.param(7, 1, id="7 shards"),
    pytest.param(7, 3, id="7 shards, one to a member"),
]


@pytest.mark.parametrize(("shards", "actors_per_node"), LAYOUTS)
def test_bits_are_those_of_one_index(sharded: Build, shards: int, actors_per_node: int) -> None:
    """Documents of different lengths, some empty, with many ties; then deletions, replacements and more documents."""
    documents = eighths(0, 150)
    ids = [f"d{i}" for i in range(150)]
    one = ms.Index.build(documents, ids)
    several = sharded(documents, ids, shards=shards, actors_per_node=actors_per_node)
    compare(one, several, QUERIES, 7, POLICIES)
    compare(one, several, QUERIES[:2], 1000, POLICIES)
    change(one)
    change(several)
    assert several.ids == one.ids
    assert len(several) == len(one)
    assert several.tokens == one.tokens
    compare(one, several, QUERIES, 7, POLICIES)
    several.compact()
    compare(one, several, QUERIES[:2], 7, POLICIES)
    members = several.search(QUERIES[0]).report.members
    assert members == min(shards, 3 * actors_per_node)


def change(index: Any) -> None:
    index.delete([f"d{i}" for i in range(0, 60, 7)])
    index.add(eighths(1, 40), [f"d{i}" for i in range(100, 140)], replace=True, delete=["d1"])
    index.add(eighths(2, 30), [f"new{i}" for i in range(30)])


@pytest.fixture
def pair(sharded: Build) -> tuple[ms.Index, ms.Index]:
    """An index with metadata, and the same in 5 shards."""
    documents, records = eighths(3, 200), [{"even": i % 2 == 0, "year": 1900 + i} for i in range(200)]
    return ms.Index.build(documents, metadata=records), sharded(documents, metadata=records, shards=5)


def test_candidates_excludes_and_filters(pair: tuple[ms.Index, ms.Index]) -> None:
    one, several = pair
    mask = np.arange(200) % 3 == 0
    options: list[dict[str, Any]] = [
        {"candidates": list(range(0, 200, 3))},
        {"candidates": mask},
        {"candidates": [7]},
        {"candidates": []},
        {"exclude": list(range(50, 150))},
        {"exclude": list(range(200))},
        {"where": {"even": True, "year": {"gte": 1950}}},
        {"where": {"year": {"lt": 0}}},
        {"candidates": list(range(100)), "exclude": [3, 4, 5], "where": {"even": False}},
        {"candidates": [list(range(100)), None, [5], []], "exclude": [None, [1, 2], None, [9]]},
    ]
    for option in options:
        compare(one, several, QUERIES, 6, POLICIES[:4], **option)


def test_hits_can_be_asked_about(pair: tuple[ms.Index, ms.Index]) -> None:
    one, several = pair
    want, got = one.search(QUERIES[1], 5), several.search(QUERIES[1], 5)
    assert got.metadata == want.metadata
    assert [got.explain(rank) for rank in range(5)] == [want.explain(rank) for rank in range(5)]
    assert (list(got), got.query_tokens) == (list(want), want.query_tokens)
    several.delete([0])
    several.delete([2])
    several.delete([4])
    assert several.search(QUERIES[1], 5, candidates=want.ids[:1]).metadata == want.metadata[:1]
    assert got.explain(4) == want.explain(4)  # of a version whose files have been removed
    for document in (1, 3, 199):
        assert several.vectors(document).tobytes() == one.vectors(document).tobytes()
        assert several.metadata(document) == one.metadata(document)
        assert document in several
    assert 0 not in several


def test_many_equal_documents(sharded: Build) -> None:
    """Of equal scores the document that was added first wins, in any shard."""
    documents = [np.ones((2, 3), np.float32)] * 60 + [np.full((1, 3), 2, np.float32)] * 5
    one, several = ms.Index.build(documents), sharded(documents, shards=6)
    for k in (1, 4, 5, 6, 20, 65, 100):
        compare(one, several, [np.ones((2, 3), np.float32), -np.ones((4, 3), np.float32)], k, POLICIES)


def test_no_document_to_find(sharded: Build) -> None:
    for documents in ([np.zeros((0, 4), np.float32)] * 3, [np.zeros((0, 4), np.float32)] * 3 + [np.ones((2, 4))]):
        one, several = ms.Index.build(documents), sharded(documents, shards=4)
        compare(one, several, [np.ones((2, 4), np.float32)], 3, POLICIES)


@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_stores_and_cosine(sharded: Build, store: Any) -> None:
    documents = eighths(4, 120, d=9)
    queries = [query_of(seed, 5, 9) for seed in range(3)]
    options: Any = {"store": store, "similarity": "cosine"}
    one, several = ms.Index.build(documents, **options), sharded(documents, shards=4, **options)
    compare(one, several, queries, 8, POLICIES)


def clusters(seed: int, count: int, d: int = 16) -> list[Rows]:
    """Documents around some directions, so that tier 0 has something to find."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((12, d))
    lengths = rng.integers(1, 8, count)
    return [
        (centres[rng.integers(12, size=length)] + 0.4 * rng.standard_normal((length, d))).astype(np.float32)
        for length in lengths
    ]


def test_calibrated(sharded: Build) -> None:
    """The same codebook, ranks and depth give the same answers, before and after changes."""
    documents, queries = clusters(5, 800), clusters(6, 40)
    one, several = ms.Index.build(documents), sharded(documents, shards=5, actors_per_node=2)
    for index in (one, several):
        index.calibrate(queries[:30], k=20)
    want, got = one.storage.snapshot.calibration, several.storage.snapshot.calibration
    assert want is not None
    assert got is not None
    for ours, theirs in ((got.hits["documents"], want.hits["documents"]),):
        assert ours.ranks.tolist() == theirs.ranks.tolist()
        assert ours.ids == theirs.ids
    policies = [ms.Calibrated(0.9), ms.Calibrated(0.6), ms.Certified(), ms.Bandit()]
    compare(one, several, queries[30:], 10, policies)
    compare(one, several, queries[30:], 4, policies[:2], exclude=[1, 2, 3])
    compare(one, several, queries[30:], 4, policies[:2], candidates=list(range(300)))
    compare(one, several, queries[30:33], 900, policies[:2])
    for index in (one, several):
        index.add(clusters(7, 60), [5000 + i for i in range(60)], delete=list(range(20)))
    compare(one, several, queries[30:], 10, policies)
    for index in (one, several):
        index.recalibrate()
    compare(one, several, queries[30:], 10, policies[:2])
    for index in (one, several):
        index.train_codebook()
    compare(one, several, queries[30:], 10, policies[:2])
    several.rebalance(3)
    compare(one, several, queries[30:], 10, policies)
    assert len(several.storage.snapshot.manifest.shards) == 3


def test_groups(sharded: Build) -> None:
    """The best passage of each of k groups, with as many attempts as one index needs."""
    documents = clusters(8, 300)

    def group_by(one: Any) -> int:
        return int(one) // 25

    one = ms.Index.build(documents, group_by=group_by)
    several = sharded(documents, shards=4, group_by=group_by)
    queries = clusters(9, 24)
    compare(one, several, queries[:4], 6, POLICIES)
    compare(one, several, queries[:4], 50, POLICIES[:1])
    compare(one, several, queries[:4], 6, POLICIES[:2], candidates=list(range(40)))
    compare(one, several, queries[:4], 6, POLICIES, by="passage")
    for index in (one, several):
        index.calibrate(queries[4:], k=8)
    compare(one, several, queries[:4], 6, [ms.Calibrated(0.8)])
    compare(one, several, queries[:4], 6, [ms.Calibrated(0.8)], by="passage")
    compare(one, several, queries[:4], 3, [ms.Calibrated(0.8)], exclude=list(range(25)))


def test_one_search_and_many_are_the_same(pair: tuple[ms.Index, ms.Index]) -> None:
    _, several = pair
    for query, want in zip(QUERIES, several.search_many(QUERIES, 5), strict=True):
        assert answer(several.search(query, 5), rescored=True) == answer(want, rescored=True)


def test_random_corpora(sharded: Build) -> None:
    """Normal vectors, whose scores are close, so that there is much to sieve; with one shard for each member."""
    rng = np.random.default_rng(11)
    documents = [rng.standard_normal((length, 24)).astype(np.float32) for length in rng.integers(0, 30, 700)]
    queries = [rng.standard_normal((tokens, 24)) for tokens in (1, 2, 8, 32)]
    one, several = ms.Index.build(documents), sharded(documents, shards=6, actors_per_node=2)
    for k in (1, 10, 100):
        compare(one, several, queries, k, POLICIES)

"""Any corpus, any layout, any policy: the answer is that of one index. Members are threads, which is fast."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from cluster.local import LocalIndex
from cluster.support import compare
from index.support import eighths, interrupted_after, query_of
from long_form import scaled
from maxsieve import calibrate
from maxsieve.cluster import Cluster
from maxsieve.storage import disk, segments

BANDITS = st.builds(
    ms.Bandit,
    alpha=st.sampled_from([0.05, 0.2, 1.0]),
    delta=st.sampled_from([0.01, 0.3]),
    margin=st.integers(0, 20),
    block=st.integers(1, 5),
    seed=st.integers(0, 3),
    radius=st.sampled_from(["paper", "serfling"]),
)
POLICIES = st.one_of(st.just(ms.Certified()), st.just(ms.Exhaustive()), BANDITS)
LAYOUTS = st.tuples(st.integers(1, 7), st.integers(1, 7))


@contextmanager
def in_shards(documents: list[Any], layout: tuple[int, int], **options: Any) -> Iterator[ms.Index]:
    shards, members = layout
    folder = Path(tempfile.mkdtemp())
    try:
        where = Cluster(actors_per_node=members)
        with LocalIndex.build(documents, path=folder / "corpus", shards=shards, cluster=where, **options) as index:
            yield index
    finally:
        shutil.rmtree(folder)


@settings(max_examples=scaled(100))
@given(
    seed=st.integers(0, 1000),
    count=st.integers(1, 60),
    layout=LAYOUTS,
    tokens=st.integers(1, 12),
    k=st.integers(1, 70),
    policy=POLICIES,
    data=st.data(),
)
def test_any_search(
    seed: int, count: int, layout: tuple[int, int], tokens: int, k: int, policy: Any, data: st.DataObject
) -> None:
    documents = eighths(seed, count)
    some = st.one_of(st.none(), st.lists(st.integers(0, count - 1), unique=True))
    records = [{"group": i % 3} for i in range(count)]
    where = data.draw(st.sampled_from([None, {"group": 1}, {"group": {"gte": 1}}]))
    one = ms.Index.build(documents, metadata=records)
    with in_shards(documents, layout, metadata=records) as several:
        options = {"candidates": data.draw(some), "exclude": data.draw(some), "where": where}
        compare(one, several, [query_of(seed, tokens)], k, [policy], **options)


@settings(max_examples=scaled(40))
@given(
    seed=st.integers(0, 1000),
    layout=LAYOUTS,
    changes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4),
    policy=POLICIES,
)
def test_any_changes(seed: int, layout: tuple[int, int], changes: list[tuple[int, int]], policy: Any) -> None:
    """Documents are added, replaced and deleted in the same steps in both; order and ties stay the same."""
    documents = eighths(seed, 40)
    one, next_id = ms.Index.build(documents), 40
    with in_shards(documents, layout) as several:
        for new, old in changes:
            known = one.ids
            replaced, gone = known[:old], known[old : 2 * old]
            ids = [*replaced, *range(next_id, next_id + new)]
            next_id += new
            for index in (one, several):
                index.add(eighths(next_id, len(ids)), ids, replace=True, delete=gone)
        assert several.ids == one.ids
        compare(one, several, [query_of(seed, 5)], 8, [policy])
        several.compact()
        several.rebalance(layout[1])
        several.verify()
        assert several.ids == one.ids
        compare(one, several, [query_of(seed, 5)], 8, [policy])


@settings(max_examples=scaled(20))
@given(seed=st.integers(0, 1000), layout=LAYOUTS, overlap=st.sampled_from([0.5, 0.9]), k=st.integers(1, 12))
def test_any_calibration(seed: int, layout: tuple[int, int], overlap: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    documents = [rng.standard_normal((length, 6)).astype(np.float32) for length in rng.integers(0, 9, 400)]
    queries = [rng.standard_normal((tokens, 6)).astype(np.float32) for tokens in rng.integers(1, 6, 24)]
    one = ms.Index.build(documents)
    one.calibrate(queries[:20], k=12)
    with in_shards(documents, layout) as several:
        several.calibrate(queries[:20], k=12)
        want, got = one.storage.snapshot.calibration, several.storage.snapshot.calibration
        assert want is not None
        assert got is not None
        assert np.array_equal(got.hits["documents"].ranks, want.hits["documents"].ranks)
        compare(one, several, queries[20:], k, [ms.Calibrated(overlap)])


@settings(max_examples=scaled(20))
@given(seed=st.integers(0, 1000), layout=LAYOUTS, steps=st.integers(0, 4))
def test_any_steps_of_an_update(seed: int, layout: tuple[int, int], steps: int) -> None:
    """After each, an index in shards has the calibration and the answers of one index, also if it was interrupted."""
    rng = np.random.default_rng(seed)
    documents = [rng.standard_normal((length, 6)).astype(np.float32) for length in rng.integers(0, 9, 500)]
    queries = [rng.standard_normal((tokens, 6)).astype(np.float32) for tokens in rng.integers(1, 6, 24)]
    with pytest.MonkeyPatch.context() as patch, in_shards(documents[:200], layout) as several:
        patch.setattr(calibrate, "STEP_TOKENS", 300)
        patch.setattr(segments, "BLOCK_BYTES", 1 << 13)
        patch.setattr(disk, "SMALL_BYTES", 1 << 13)
        one = ms.Index.build(documents[:200])
        for index in (one, several):
            index.calibrate(queries[:20], k=6)
            index.add(documents[200:350], range(200, 350))
            index.delete([*range(0, 200, 9)])
            index.add(documents[350:], range(350, 500))
            with interrupted_after(steps), suppress(KeyboardInterrupt):
                index.recalibrate()
        assert several.storage.snapshot.changes == one.storage.snapshot.changes
        assert all(shard.lists for shard in map(several.storage.snapshot.shard, range(layout[0])))
        want, got = one.storage.snapshot.calibration, several.storage.snapshot.calibration
        assert np.array_equal(got.hits["documents"].ranks, want.hits["documents"].ranks)
        assert got.hits["documents"].ids == want.hits["documents"].ids
        compare(one, several, queries[20:], 5, [ms.Calibrated(0.9)])

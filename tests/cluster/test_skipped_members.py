"""Members whose documents can't be among the best are not called again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from cluster.local import LocalIndex, LocalMembers
from cluster.support import answer
from maxsieve.cluster import Cluster, coordinator
from maxsieve.cluster.placement import Seat

MEMBERS = 12


@pytest.mark.parametrize("k", [1, 3, 10, 200])
def test_few_members_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    rng = np.random.default_rng(0)
    documents = [rng.standard_normal((length, 8)).astype(np.float32) for length in rng.integers(0, 9, 300)]
    asked: Counter[int] = Counter()
    start = LocalMembers.start

    def count(self: LocalMembers, seat: Seat, method: str, *arguments: Any) -> Hashable:
        if method == "advance":
            _session, _request, replies = arguments
            asked[len(replies)] += 1
        return start(self, seat, method, *arguments)

    monkeypatch.setattr(LocalMembers, "start", count)
    monkeypatch.setattr(coordinator, "MIN_HEDGE_DELAY", 1e6)  # no member is late, however busy the machine is
    monkeypatch.setattr(coordinator, "DEFAULT_HEDGE_DELAY", 1e6)
    one, where = ms.Index.build(documents), Cluster(actors_per_node=MEMBERS)
    with LocalIndex.build(documents, path=tmp_path / "c", shards=MEMBERS, cluster=where) as several:
        for number in range(5):
            query = rng.standard_normal((4, 8)).astype(np.float32)
            asked.clear()
            want, got = one.search(query, k), several.search(query, k)
            assert answer(got) == answer(want)
            assert got.report.members == MEMBERS
            assert asked[0] == MEMBERS
            assert asked[1] <= min(k, MEMBERS), f"query {number}"
            assert asked[2] <= min(got.report.rescored, MEMBERS)
            if k == 1:
                assert asked[2] < MEMBERS
        members = several.searcher._members
        members._pool.shutdown()
        assert not any(member._sessions for member in members._members.values())

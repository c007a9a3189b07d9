"""The way from `Collection.search` to the members of a cluster stays short, too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import count_path


def test_way_to_the_members_is_short(cluster: Any, tmp_path: Path) -> None:
    way = count_path.count_small(tmp_path / "collection", shards=2)
    assert ("cluster/actors.py", "ActorPool.start") in way.ran
    assert way.is_within(count_path.AT_MOST["in shards"]), sorted(way.ran)

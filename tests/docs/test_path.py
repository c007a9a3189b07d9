"""The way from `Collection.search` to the engine stays short. `tools/count_path.py --verbose` prints it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import count_path


def test_way_to_the_engine_is_short(tmp_path: Path) -> None:
    way = count_path.count_small(tmp_path / "collection")
    assert {("text/collection/collection.py", "Collection.search"), ("searcher.py", "LocalSearch.best")} <= way.ran
    assert way.is_within(count_path.AT_MOST["one collection"]), sorted(way.ran)


def test_limits_can_be_exceeded() -> None:
    way = count_path.Way({("a.py", "one"), ("b.py", "two")}, [])
    assert way.is_within((2, 2))
    assert not way.is_within((1, 2))
    assert not way.is_within((2, 1))

"""Copies of an index in shards, and pickled ones: each has members of its own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.local import LocalIndex
from cluster.support import answer
from maxsieve.errors import ClosedIndexError

QUERY = np.ones((2, 3), np.float32)
WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))]


@pytest.mark.parametrize("way", WAYS, ids=["copy", "deepcopy", "pickle"])
def test_a_copy_that_is_closed_takes_nothing_with_it(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    with LocalIndex.build(np.eye(9, 3)[:, None], path=tmp_path / "corpus", shards=2) as index:
        before = answer(index.search(QUERY, 4))
        other = way(index)
        assert answer(other.search(QUERY, 4)) == before
        assert other.ids == index.ids
        other.close()
        with pytest.raises(ClosedIndexError):
            other.search(QUERY)
        assert answer(index.search(QUERY, 4)) == before
        index.delete([0])
        assert len(way(index)) == 8
    with pytest.raises(ClosedIndexError):
        way(index)

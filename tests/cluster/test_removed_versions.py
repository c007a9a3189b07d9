"""An index at a version whose files other processes have removed: every method uses the newest version instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.cluster import Cluster, searcher
from maxsieve.cluster.member import Member, MemberRequest
from maxsieve.cluster.tier0_places import PlacesRequest
from maxsieve.errors import StaleVersionError

from .local import LocalIndex

QUESTIONS: dict[str, Callable[[LocalIndex], Any]] = {
    "repr": lambda index: index._repr_html_(),
    "verify": lambda index: index.verify(),
    "nbytes": lambda index: index.nbytes,
    "ids": lambda index: index.ids,
    "calibration": lambda index: index.storage.reading(lambda snapshot: snapshot.calibration is not None),
    "vectors": lambda index: index.vectors("d9").tobytes(),
    "metadata": lambda index: index.metadata("d9"),
    "contains": lambda index: "d9" in index,
    "search": lambda index: list(index.search(np.ones((2, 4), np.float32), 3)),
    "calibrated": lambda index: list(index.search(np.ones((2, 4), np.float32), 3, policy=ms.Calibrated(0.5))),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_is_answered(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    docs = [rng.standard_normal((3, 4)).astype(np.float32) for _ in range(60)]
    writer = LocalIndex.build(docs, [f"d{i}" for i in range(60)], path=tmp_path / "c", shards=3)
    writer.calibrate(docs[:20], k=5)
    reader = LocalIndex.open(tmp_path / "c")
    for number in range(3):
        writer.delete([f"d{number}"])
        writer.compact()
        writer.recalibrate()
    assert QUESTIONS[name](reader) == QUESTIONS[name](LocalIndex.open(tmp_path / "c"))


@pytest.mark.parametrize("kind", [MemberRequest, PlacesRequest])
def test_storage_that_shows_a_version_late(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A calibration asks the members for the version that it has just committed itself."""
    rng = np.random.default_rng(0)
    docs = [rng.standard_normal((3, 4)).astype(np.float32) for _ in range(60)]
    index = LocalIndex.build(docs, path=tmp_path / "c", shards=2, cluster=Cluster(actors_per_node=2))
    real, is_late = Member.advance, [True]

    def advance(self: Member, session: str, request: Any, replies: Any) -> Any:
        if is_late[0] and isinstance(request, kind):
            raise StaleVersionError("not here yet")
        return real(self, session, request, replies)

    def sleep(_: float) -> None:
        is_late[0] = False

    monkeypatch.setattr(Member, "advance", advance)
    monkeypatch.setattr(searcher, "time", SimpleNamespace(sleep=sleep, perf_counter=time.perf_counter))
    index.calibrate(docs[:1], k=5)
    assert index.storage.snapshot.calibration is not None
    assert not is_late[0]
    index.close()

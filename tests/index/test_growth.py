"""A calibration after changes: the guarantee holds at once, an update finds what a new calibration would, filters."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms

from .support import small_codebooks
from .test_calibrated import queries, vectors

POLICY = ms.Calibrated(0.9)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_codebooks(monkeypatch)


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> ms.Index:
    path = None if request.param == "memory" else tmp_path / "index"
    metadata = [{"n": i % 10} for i in range(400)]
    return ms.Index.build(vectors(0, 400), [f"d{i}" for i in range(400)], path=path, metadata=metadata)


def found(index: ms.Index, **options: Any) -> float:
    asked = queries(5, 100)
    exact = index.search_many(asked, 10, **options)
    hits = index.search_many(asked, 10, policy=POLICY, **options)
    assert {one.report.guarantee for one in hits} <= {"calibrated", "exact"}
    return float(np.mean([len({*a.ids} & {*b.ids}) / len(b) for a, b in zip(hits, exact, strict=True)]))


def unusual(count: int) -> list[np.ndarray]:
    """Documents around directions that no other has, and that are better for many queries."""
    return [np.concatenate([rows, rows[:1] + 0.1]) for rows in queries(5, count)]


def test_the_guarantee_holds_at_once_and_after_an_update(index: ms.Index) -> None:
    index.calibrate(queries(0, 60), k=12)
    for some in (40, 400):
        index.add(unusual(some), [f"u{some}-{i}" for i in range(some)])
        assert found(index) >= 0.9 - 0.05
    index.recalibrate()
    report = index.search(queries(5, 1)[0], 10, policy=POLICY).report
    assert (report.added, report.survivors < len(index)) == (0, True)
    assert found(index) >= 0.9 - 0.05


def test_an_update_finds_what_a_new_calibration_would(index: ms.Index) -> None:
    asked = queries(0, 40)
    index.calibrate(asked, k=8)
    index.add(unusual(30), [f"u{i}" for i in range(30)])
    index.delete([f"d{i}" for i in range(0, 60, 3)])
    index.recalibrate()
    updated = index.storage.snapshot.calibration
    index.calibrate(asked, k=8)
    fresh = index.storage.snapshot.calibration
    assert updated is not None
    assert fresh is not None
    ours, theirs = updated.hits["documents"], fresh.hits["documents"]
    both = min(ours.ranks.shape[2], theirs.ranks.shape[2])
    assert both >= 8
    assert [row[:both] for row in ours.ids or []] == [row[:both] for row in theirs.ids or []]
    assert ours.ranks[:, :, :both].tolist() == theirs.ranks[:, :, :both].tolist()
    assert ours.scores[:, :both].tobytes() == theirs.scores[:, :both].tobytes()


def test_deleted_hits_are_struck(index: ms.Index) -> None:
    index.calibrate(queries(5, 100), k=10)
    best = [index.search(query, 1).ids[0] for query in queries(5, 100)]
    index.delete(list(dict.fromkeys(best)))
    assert found(index) >= 0.9 - 0.03
    index.compact()
    assert index.search(queries(5, 1)[0], 10, policy=POLICY).report.deleted == 0
    assert found(index) >= 0.9 - 0.03


def test_a_filter_has_its_own_calibration(index: ms.Index) -> None:
    where = {"n": {"lt": 5}}
    query = queries(5, 1)[0]
    index.calibrate(queries(0, 60), k=12)
    assert index.search(query, 10, policy=POLICY, where=where).report.guarantee == "exact"
    index.calibrate(queries(3, 60), k=12, where=where)
    report = index.search(query, 10, policy=POLICY, where={"n": {"lt": 5}}).report
    assert (report.guarantee, report.calibrated_for) == ("calibrated", where)
    assert index.search(query, 10, policy=POLICY).report.calibrated_for is None
    assert found(index, where=where) >= 0.9 - 0.05
    index.add(unusual(50), [f"u{i}" for i in range(50)], metadata=[{"n": i % 10} for i in range(50)])
    assert found(index, where=where) >= 0.9 - 0.05
    index.compact()
    assert len(index.storage.snapshot.calibrations) == 2
    assert found(index, where=where) >= 0.9 - 0.05
    with pytest.raises(ValueError, match="match the filter"):
        index.calibrate(queries(0, 20), k=5, where={"n": 77})


def test_a_filter_that_matches_nothing_any_more_is_dropped(index: ms.Index) -> None:
    index.calibrate(queries(0, 60), k=12)
    index.calibrate(queries(3, 60), k=12, where={"n": 3})
    index.delete([f"d{i}" for i in range(3, 400, 10)])
    index.compact()
    assert [one.where for one in index.storage.snapshot.calibrations] == [None]
    assert found(index) >= 0.9 - 0.05


def test_an_update_pays_if_more_new_documents_are_followed_up_than_others(index: ms.Index) -> None:
    assert not index.recalibration_pays
    index.calibrate(queries(0, 120), k=12)
    calibration = index.storage.snapshot.calibration
    assert calibration is not None
    depth = calibration.depth(10, Fraction("0.99"))
    assert 10 <= depth < 300
    index.add(vectors(1, depth), [f"n{i}" for i in range(depth)])
    assert not index.recalibration_pays
    index.add(vectors(2, 1), ["last"])
    assert index.recalibration_pays
    index.recalibrate()
    assert not index.recalibration_pays
    index.delete([one for one in index.ids if str(one).startswith("d")])
    assert index.recalibration_pays, "searches are exact, because too few hits are left"
    index.recalibrate()
    index.delete(index.ids)
    assert not index.recalibration_pays


def test_an_index_without_documents_keeps_its_calibration(index: ms.Index) -> None:
    index.calibrate(queries(0, 60), k=12)
    index.delete(index.ids)
    index.compact()
    index.add(vectors(1, 300), [f"n{i}" for i in range(300)])
    assert found(index) == 1.0
    index.recalibrate()
    assert found(index) >= 0.9 - 0.05


def test_at_most_16_filters_are_kept(index: ms.Index) -> None:
    for number in range(16):
        index.calibrate(queries(0, 2), k=1, where={"n": {"lt": 1 + number}})
    with pytest.raises(ValueError, match="16 filters"):
        index.calibrate(queries(0, 2), k=1, where={"n": 3})
    index.calibrate(queries(1, 2), k=1, where={"n": {"lt": 4}})
    assert len(index.storage.snapshot.calibrations) == 16


def test_a_promise_about_single_queries(index: ms.Index) -> None:
    index.calibrate(queries(0, 200), k=10)
    policy, asked = ms.Calibrated(0.8, share=0.9), queries(5, 100)
    exact = index.search_many(asked, 10)
    hits = index.search_many(asked, 10, policy=policy)
    assert np.mean([len({*a.ids} & {*b.ids}) >= 8 for a, b in zip(hits, exact, strict=True)]) >= 0.8
    with pytest.raises(ValueError, match=r"share of 0\.999 needs 999"):
        index.search(asked[0], policy=ms.Calibrated(0.8, share=0.999))
    with pytest.raises(ValueError, match=r"^share"):
        ms.Calibrated(0.8, share=1.0)

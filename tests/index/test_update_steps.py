"""An update in steps: each is committed, an interrupted one is continued, and every version keeps its promise."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from long_form import scaled
from maxsieve import calibrate
from maxsieve.calibrated import is_behind, plan
from maxsieve.options import SearchOptions
from maxsieve.policies import CalibratedDepth
from maxsieve.searcher import LocalSearcher
from maxsieve.storage import codebook, disk, segments
from maxsieve.storage.memory import MemoryStorage

from .support import interrupted_after
from .test_calibrated import queries, vectors

POLICY, K = ms.Calibrated(0.9), 6
STEP = 150
"""Tokens of a step: some twenty documents."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Few centroids, short steps, and segments that are sealed soon."""
    patch.setattr(codebook, "FEWEST", 16)
    patch.setattr(codebook, "MOST", 64)
    patch.setattr(calibrate, "STEP_TOKENS", STEP)
    patch.setattr(disk, "SMALL_BYTES", 1 << 14)
    patch.setattr(segments, "BLOCK_BYTES", 1 << 14)


def unusual(seed: int, count: int) -> list[np.ndarray]:
    """Documents that are better than others for many queries, by lists, too."""
    return [np.concatenate([rows, rows[:1] + 0.1]) for rows in queries(seed, count)]


def check(index: ms.Index) -> None:
    """The claim on growth, for each query: a hit is missing only if it was when the documents behind were not there."""
    snapshot = index.storage.snapshot
    here, asked = snapshot.here, queries(5, 12)
    policy = plan(SearchOptions(K, policy=POLICY), snapshot, 1, None)[0](0)
    old = np.sort(here.numbers(here.live)) < snapshot.since
    if not isinstance(policy, CalibratedDepth) or old.sum() <= K:
        return
    hits, exact = index.search_many(asked, K, policy=POLICY), index.search_many(asked, K)
    before = index.search_many(asked, K, candidates=old)
    search = LocalSearcher().prepare(snapshot, asked, SearchOptions(K))
    wanted = [(query, found.ids) for query, found in enumerate(before)]
    ranks = list(search.ranks(wanted, policy.walk, snapshot.since))
    for got, true, known, places in zip(hits, exact, before, ranks, strict=True):
        could_miss = {one for one, rank in zip(known.ids, places.tolist(), strict=True) if rank > policy.depth}
        assert {*true.ids} - {*got.ids} <= could_miss
        assert got.report.added >= (~old).sum()


def check_covered(index: ms.Index, asked: list[np.ndarray]) -> None:
    """The calibration is what a new one would be if the documents behind it had not been added."""
    snapshot = index.storage.snapshot
    here, mine = snapshot.here, snapshot.calibration
    assert mine is not None
    behind = [one for one, order in snapshot.orders(here.live_ids()).items() if order >= snapshot.since]
    alone = ms.Index(MemoryStorage.of(here))
    alone.delete(behind)
    alone.calibrate(asked, K)
    fresh = alone.storage.snapshot.calibration
    assert fresh is not None
    assert mine.documents == fresh.documents
    ours, theirs = mine.hits["documents"], fresh.hits["documents"]
    both = min(ours.ranks.shape[2], theirs.ranks.shape[2])
    assert both >= K
    assert [row[:both] for row in ours.ids or []] == [row[:both] for row in theirs.ids or []]
    assert ours.ranks[:, :, :both].tolist() == theirs.ranks[:, :, :both].tolist()
    assert ours.scores[:, :both].tobytes() == theirs.scores[:, :both].tobytes()


def test_an_interrupted_update_is_continued(tmp_path: Path) -> None:
    asked = queries(0, 30)
    index = ms.Index.build(vectors(0, 200), [f"d{i}" for i in range(200)], path=tmp_path / "index")
    index.calibrate(asked, K)
    index.add(unusual(5, 150), [f"u{i}" for i in range(150)])
    index.delete(["d3", "d8"])
    index.close()
    searched: list[int] = []
    prepare = calibrate._prepare

    def counted(snapshot: Any, searcher: Any, some: Any, k: int, where: Any, among: Any = None) -> Any:
        if among is not None:
            searched.append(len(some) * int(among.sum()))
        return prepare(snapshot, searcher, some, k, where, among)

    added: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "_prepare", counted)
        for _ in range(20):
            with ms.Index.open(tmp_path / "index") as index, interrupted_after(1):  # a new process each time
                try:
                    index.recalibrate()
                    done = True
                except KeyboardInterrupt:
                    done = False
                searched.pop() if not done else None  # the step that was interrupted
            with ms.Index.open(tmp_path / "index") as index:
                index.verify()
                assert index.storage.snapshot.changes.deleted == 0
                added.append(index.storage.snapshot.changes.added)
                check(index)
                check_covered(index, asked)
            if done:
                break
    assert added[-1] == 0
    assert len(added) == len(set(added)) >= 4, "each step has done its part"
    assert added == sorted(added, reverse=True)
    assert sum(searched) == 30 * 150, "no document was searched twice"
    with ms.Index.open(tmp_path / "index") as index:
        assert not is_behind(index.storage.snapshot)


def test_queries_with_too_few_hits_left_are_searched_again_before_the_end_of_a_step() -> None:
    asked = queries(0, 30)
    index = ms.Index.build(vectors(0, 200), [f"d{i}" for i in range(200)])
    index.calibrate(asked, K)
    index.delete(list({one for hits in index.search_many(asked[:5], 30) for one in hits.ids}))
    index.add([rows for rows in unusual(0, 30) for _ in range(4)], [f"u{i}" for i in range(120)])
    with interrupted_after(1), pytest.raises(KeyboardInterrupt):
        index.recalibrate()
    assert index.storage.snapshot.changes.added
    check(index)
    check_covered(index, asked)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_step_has_all_hits_that_are_wanted(grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise for k hits must not become one for fewer in between."""
    asked = queries(0, 30)
    group_by = (lambda one: str(one).split("-")[0]) if grouped else None
    index = ms.Index.build(vectors(0, 60), [f"d{i}" for i in range(60)], group_by=group_by)
    index.calibrate(asked, K)
    index.delete([f"d{i}" for i in range(2, 60)])
    index.add(vectors(1, 100), [f"{'large' if i < 50 else i}-{i}" for i in range(100)])
    monkeypatch.setattr(calibrate, "STEP_TOKENS", 100 if grouped else 20)
    steps = 0
    while index.storage.snapshot.changes.added:
        steps += 1
        with interrupted_after(2 if grouped else 1), suppress(KeyboardInterrupt):
            index.recalibrate()
        calibration = index.storage.snapshot.calibration
        assert calibration is not None
        assert calibration.k == K
        assert len(index.search(asked[0], K, policy=POLICY)) == K
    assert steps == 1, "a step that has too few documents goes to the end"


@settings(max_examples=scaled(24), deadline=None)
@given(
    place=st.sampled_from(["memory", "disk"]),
    changes=st.lists(
        st.tuples(
            st.sampled_from(["add", "unusual", "replace", "delete", "step", "update", "compact"]), st.integers(0, 99)
        ),
        min_size=2,
        max_size=7,
    ),
)
def test_any_changes_and_steps(place: str, changes: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        make_small(patch)
        asked = queries(0, 30)
        path = Path(folder, "index") if place == "disk" else None
        with ms.Index.build(vectors(0, 160), [f"d{i}" for i in range(160)], path=path) as index:
            index.calibrate(asked, K)
            for turn, (what, number) in enumerate(changes):
                change(index, what, number, turn)
                check(index)
                if not index.storage.snapshot.changes.deleted:
                    check_covered(index, asked)


def change(index: ms.Index, what: str, number: int, turn: int) -> None:
    rng = np.random.default_rng(number)
    chosen = [one for one in index.ids if rng.random() < 0.1]
    if what in ("add", "unusual"):
        count = 1 + number
        new = vectors(number, count) if what == "add" else unusual(5, count)
        index.add(new, [f"n{turn}-{i}" for i in range(count)])
    elif what == "replace":
        index.add(vectors(number, len(chosen)), chosen, replace=True)
    elif what == "delete":
        index.delete(chosen)
    elif what == "compact":
        index.compact()
    else:
        with interrupted_after(1 if what == "step" else 1000):
            try:
                index.recalibrate()
            except KeyboardInterrupt:
                assert what == "step"

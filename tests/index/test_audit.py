"""The live audit of an index: what it finds, what it bounds, and when it stops."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from copy import copy

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import audit
from maxsieve.audit import Audit, Sample
from maxsieve.errors import BrokenPromiseWarning

from .test_calibrated import queries, vectors

POLICY = ms.Calibrated(0.9)


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "REST", 0.0)


def offer(kept: Audit, sample: Sample) -> None:
    """Offers a sample until it is taken: an offer that meets the thread at its list is skipped."""
    skipped = -1
    while skipped != kept.skipped:
        skipped = kept.skipped
        kept.offer(sample)


def until(condition: Callable[[], object]) -> None:
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("nothing came of it within 10 s")


def made(share: float | None = 1.0, **options: object) -> ms.Index:
    index = ms.Index.build(vectors(1, 400), audit=share, **options)
    index.calibrate(queries(2, 40), k=10)
    return index


def results(index: ms.Index, count: int) -> audit.Audited:
    assert index.audit is not None
    kept = index.audit
    until(lambda: sum(one.searches for one in kept.results) + kept.skipped >= count)
    (found,) = kept.results
    return found


def test_it_finds_the_overlap() -> None:
    index = made()
    asked = queries(3, 12)
    overlaps = []
    for number, query in enumerate(asked, 1):
        found = index.search(query, 5, policy=POLICY).ids
        overlaps.append(len({*found} & {*index.search(query, 5).ids}) / 5)
        results(index, number)
    found = results(index, len(asked))
    assert (found.searches, found.policy, found.where) == (len(asked), POLICY, None)
    assert found.overlap == pytest.approx(np.mean(overlaps))
    assert found.lower <= found.overlap <= found.upper
    assert not found.broken
    index.close()


def test_only_promises_are_audited() -> None:
    index = made()
    index.search(queries(3, 1)[0], 5)
    index.search(queries(3, 1)[0], 5, policy=POLICY, candidates=list(range(100)))
    assert index.audit is not None
    assert (index.audit.results, index.audit.waiting, index.audit.skipped) == ([], 0, 0)
    assert made(None).audit is None


def test_a_share_of_the_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    index = made(0.25)
    assert index.audit is not None
    taken: list[Sample] = []
    monkeypatch.setattr(index.audit, "offer", taken.append)
    for _ in range(10):
        index.search_many(queries(3, 40), 5, policy=POLICY)
    assert 50 < len(taken) < 150  # 100 are expected, with a standard deviation of 9


def test_groups_and_excluded_documents_are_those_of_the_search() -> None:
    index = ms.Index.build(vectors(1, 400), audit=1.0, group_by=lambda id: int(id) // 4)
    index.calibrate(queries(2, 40), k=20)
    index.search(queries(3, 1)[0], 5, policy=POLICY)
    assert 0 <= results(index, 1).overlap <= 1
    index.search(queries(3, 1)[0], 3, policy=ms.Calibrated(0.5), exclude=[0, 1, 2, 3])
    kept = index.audit
    assert kept is not None
    until(lambda: len(kept.results) == 2)


def test_a_broken_promise_is_a_warning() -> None:
    """Of the next search, once for each calibration."""
    index = made()
    kept, query = index.audit, queries(3, 1)[0]
    assert kept is not None
    for calibration in (1, 2):
        for number in range(1, 31):
            offer(kept, Sample(POLICY, None, calibration, frozenset("ab"), lambda: frozenset("ac"), 8))
            until(lambda number=number: kept.results and kept.results[0].searches == number)
        assert kept.results[0].broken
        with pytest.warns(BrokenPromiseWarning, match=r"0.500 in .* calibrate") as told:
            index.search_many([query, query], 5, policy=POLICY)
        index.search(query, 5, policy=ms.Calibrated(0.5))
        assert len(told) == 1


def test_a_new_calibration_begins_again() -> None:
    kept = Audit(1.0)
    for calibration, searches in ((1, 1), (1, 2), (2, 1)):
        offer(kept, Sample(POLICY, None, calibration, frozenset("ab"), lambda: frozenset("ac"), 0))
        until(lambda searches=searches: kept.results and kept.results[0].searches == searches)
    assert kept.results[0].overlap == 0.5


def test_hostile_loads_pile_up_nothing() -> None:
    kept, go = Audit(1.0), threading.Event()

    def slow() -> frozenset[str]:
        go.wait(10)
        return frozenset("a")

    for number in range(1000):
        kept.offer(Sample(ms.Calibrated((number + 1) / 1001), None, 1, frozenset("a"), slow, 8))
    assert kept.waiting <= audit.WAITING
    assert kept.skipped >= 1000 - audit.WAITING - 1
    assert sum(thread.name == "maxsieve-audit" for thread in threading.enumerate()) == 1
    go.set()
    until(lambda: not kept.waiting)
    for number in range(3 * audit.PROMISES):
        kept.offer(Sample(ms.Calibrated((number + 1) / 1001), None, 1, frozenset("a"), slow, 8))
        until(lambda: not kept.waiting)
    assert len(kept.results) <= audit.PROMISES
    before = kept.skipped
    kept.offer(Sample(POLICY, None, 1, frozenset("a"), slow, audit.QUERY_BYTES + 1))
    kept.offer(Sample(POLICY, None, 1, frozenset(range(audit.HITS + 1)), slow, 8))
    assert kept.skipped == before + 2


def test_an_offer_never_waits() -> None:
    kept = Audit(1.0)
    with kept._lock:  # as if the thread were recording
        kept.offer(Sample(POLICY, None, 1, frozenset("a"), lambda: frozenset("a"), 8))
    assert (kept.skipped, kept.waiting) == (1, 0)


def test_a_search_that_fails_is_skipped() -> None:
    kept = Audit(1.0)
    kept.offer(Sample(POLICY, None, 1, frozenset("a"), lambda: frozenset(1 // 0 for _ in "a"), 8))
    until(lambda: kept.skipped == 1)
    assert kept.results == []


def test_it_stops_with_the_index() -> None:
    index = made()
    for query in queries(3, 8):
        index.search(query, 5, policy=POLICY)
    index.close()
    assert not any(thread.name == "maxsieve-audit" for thread in threading.enumerate())
    assert index.audit is not None
    index.audit.offer(Sample(POLICY, None, 1, frozenset("a"), lambda: frozenset("a"), 8))
    assert index.audit.waiting == 0


def test_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "REST", 9.0)
    kept, waits = Audit(1.0), []
    monkeypatch.setattr(kept._closing, "wait", waits.append)
    kept.offer(Sample(POLICY, None, 1, frozenset("a"), lambda: (time.sleep(0.02), frozenset("a"))[1], 8))
    until(lambda: waits)
    assert waits[0] >= 9 * 0.02


def test_many_threads_search_while_it_runs() -> None:
    index = made(0.5)
    asked = queries(3, 40)
    expected = [index.search(query, 5, policy=POLICY).ids for query in asked]
    wrong: list[int] = []

    def ask() -> None:
        for number, query in enumerate(asked):
            if index.search(query, 5, policy=POLICY).ids != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.close()
    assert wrong == []


def test_copies_have_an_audit_of_their_own() -> None:
    index = made(0.5)
    for other in (copy(index), pickle.loads(pickle.dumps(index))):
        assert other.audit is not None
        assert other.audit is not index.audit
        assert other.audit.share == 0.5


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(ValueError, match="audit must lie"):
        ms.Index.create(4, audit=share)
    with pytest.raises(TypeError, match="audit must be"):
        ms.Index.create(4, audit="0.1")  # type: ignore[arg-type]

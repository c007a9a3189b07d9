"""Another thread ends a long call: each of these would run for seconds or more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve._core import Stop, StoppedError

RNG = np.random.default_rng(0)
QUERY = RNG.standard_normal((512, 512), np.float32)


@pytest.fixture(scope="module")
def index() -> ms.Index:
    return ms.Index.build([RNG.standard_normal((2000, 512), np.float32)] * 4)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("policy", [ms.Certified(), ms.Exhaustive(), ms.Bandit(block=4096, alpha=1)])
def test_a_search_is_stopped(index: ms.Index, policy: Any, threads: int) -> None:
    stop = Stop()
    outcome = _on_a_thread(stop, lambda: index.search_many([QUERY] * 300, policy=policy, threads=threads))
    assert outcome == ["begun"]
    stop.request()
    _ended(outcome)
    assert isinstance(outcome[1], StoppedError)
    assert len(index.search(QUERY[:1], k=3)) == 3  # no other thread is stopped


def test_a_stop_that_nobody_watches(index: ms.Index) -> None:
    stop = Stop()
    stop.request()
    assert len(index.search(QUERY[:1])) == 4
    with stop, pytest.raises(StoppedError):
        index.search(QUERY[:1])
    assert len(index.search(QUERY[:1])) == 4


def test_one_within_another(index: ms.Index) -> None:
    outer, inner = Stop(), Stop()
    with outer:
        with inner:
            index.search(QUERY[:1])
        outer.request()
        with inner:
            index.search(QUERY[:1])  # the inner one counts
        with pytest.raises(StoppedError):
            index.search(QUERY[:1])


def _on_a_thread(stop: Stop, call: Callable[[], Any]) -> list[Any]:
    outcome: list[Any] = []

    def work() -> None:
        with stop:
            outcome.append("begun")
            try:
                outcome.append(call())
            except BaseException as failure:
                # Its traceback refers to this list: a reference cycle, which would keep all queries until it is
                # collected.
                outcome.append(failure.with_traceback(None))

    threading.Thread(target=work, daemon=True).start()
    while not outcome:
        time.sleep(0.01)
    time.sleep(0.3)
    return outcome


def _ended(outcome: list[Any]) -> None:
    end = time.monotonic() + 120
    while len(outcome) < 2:
        assert time.monotonic() < end
        time.sleep(0.01)

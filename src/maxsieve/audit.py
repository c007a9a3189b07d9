"""A live audit: some of the searches by `Calibrated` are repeated exactly in the background, and the overlap is kept.

Its work is bounded: one thread, at rest for nine tenths of the time, and few searches that wait for it. More are
skipped and counted. An answer never waits for it.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections import deque
from collections.abc import Callable, Hashable
from math import log
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve._core import Stop
from maxsieve.errors import BrokenPromiseWarning
from maxsieve.policies import Calibrated, Parameter

ALPHA = 0.01
"""The probability that an interval is ever wrong."""

STEPS, LARGEST_BET = 1000, 0.5
"""As in spec/audit.py."""

WAITING = 8
"""The most searches that wait to be repeated."""

QUERY_BYTES, HITS = 1 << 20, 10_000
"""Queries with more bytes, or with more hits, are not repeated."""

PROMISES = 16
"""The most promises that are audited. If there is one more, the one with the fewest searches is dropped."""

REST = 9.0
"""The thread rests so many times as long as it has worked."""

SHARE = Parameter("audit", float, 0.01, "the share of the searches by Calibrated that is repeated exactly")


class MeanInterval:
    """The mean of values in [0, 1], and limits for it that hold at all times at once (spec/audit.py)."""

    def __init__(self) -> None:
        self.count, self.lower, self.upper = 0, 0.0, 1.0
        self._sum, self._squares = 0.0, 0.25
        self._means = np.arange(STEPS + 1) / STEPS
        with np.errstate(divide="ignore"):
            self._most = LARGEST_BET / self._means, LARGEST_BET / (1 - self._means)
        self._capitals: tuple[NDArray[np.float64], ...] = np.zeros(STEPS + 1), np.zeros(STEPS + 1)

    @property
    def mean(self) -> float:
        """The mean of the values; 0 if there are none."""
        return self._sum / max(1, self.count)

    def add(self, value: float) -> None:
        """Takes one more value."""
        self.count += 1
        enough = log(2 / ALPHA)
        bet = np.sqrt(2 * enough / (self._squares * np.log(1 + self.count)))
        larger, smaller = self._capitals
        larger += np.log1p(np.minimum(bet, self._most[0]) * (value - self._means))
        smaller += np.log1p(-np.minimum(bet, self._most[1]) * (value - self._means))
        self._sum += value
        self._squares += (value - (0.5 + self._sum) / (self.count + 1)) ** 2
        # The first capital never grows with the mean, the second never falls: what is excluded are two ends.
        if (beaten := np.flatnonzero(larger >= enough)).size:
            self.lower = max(self.lower, float(self._means[beaten[-1]]))
        if (beaten := np.flatnonzero(smaller >= enough)).size:
            self.upper = min(self.upper, float(self._means[beaten[0]]))


class Audited(NamedTuple):
    """What the audit of one promise found: that of a policy, with a filter or None.

    ``overlap`` is the mean share of the exact answer that ``searches`` found. The true mean lies between ``lower`` and
    ``upper``, with a probability of 99 % for all times at which one looks. If ``upper`` is below the target, the
    promise is ``broken``: the queries are not like those of the calibration.
    """

    policy: Calibrated
    where: str | None
    searches: int
    overlap: float
    lower: float
    upper: float

    @property
    def broken(self) -> bool:
        """Whether the mean is below the target of the policy."""
        return self.upper < self.policy.overlap

    def __str__(self) -> str:
        condition = "" if self.where is None else f" with the filter {self.where}"
        return (
            f"the audit of {self.policy}{condition} found a mean overlap of {self.overlap:.3f} in {self.searches} "
            f"searches, between {self.lower:.3f} and {self.upper:.3f}"
        )


class Sample(NamedTuple):
    """A search that is to be repeated."""

    policy: Calibrated
    where: str | None
    calibration: int
    """Tells calibrations apart: what was found before a new one is dropped."""
    found: frozenset[Hashable]
    repeat: Callable[[], frozenset[Hashable]]
    """Searches exactly."""
    nbytes: int
    """Of the query."""


class _Promise:
    """The searches of one promise since its calibration."""

    def __init__(self, calibration: int) -> None:
        self.calibration, self.interval, self.told = calibration, MeanInterval(), False


class Audit:
    """The audit of an index: a ``share`` of its searches by `Calibrated` is repeated with `Certified`."""

    def __init__(self, share: float) -> None:
        self.share: float = SHARE.check(share)
        self.skipped = 0
        """Searches that were chosen but not repeated: too many waited, they were too large, or they failed."""
        self._chance = random.Random()
        self._samples: deque[Sample] = deque()
        self._lock = threading.Lock()
        self._promises: dict[tuple[Calibrated, str | None], _Promise] = {}
        self._broken: deque[Audited] = deque(maxlen=PROMISES)
        self._thread: threading.Thread | None = None
        self._closing, self._stop = threading.Event(), Stop()

    def __reduce__(self) -> tuple[Any, ...]:
        return Audit, (self.share,)

    @property
    def results(self) -> list[Audited]:
        """What was found since the last calibration, for each promise."""
        with self._lock:
            return [_audited(key, promise.interval) for key, promise in self._promises.items()]

    @property
    def waiting(self) -> int:
        """How many searches wait to be repeated."""
        return len(self._samples)

    def choose(self) -> bool:
        """Whether to take a search into the sample."""
        return self._chance.random() < self.share

    def offer(self, sample: Sample) -> None:
        """Takes a search that is to be repeated, or skips it; never waits."""
        large = sample.nbytes > QUERY_BYTES or len(sample.found) > HITS
        if large or len(self._samples) >= WAITING or not self._lock.acquire(blocking=False):
            self.skipped += 1
            return
        try:
            if self._closing.is_set():
                return
            self._samples.append(sample)
            if self._thread is None or not self._thread.is_alive():  # it is not alive after a fork
                self._thread = threading.Thread(target=self._work, name="maxsieve-audit", daemon=True)
                self._thread.start()
        finally:
            self._lock.release()

    def warn(self) -> None:
        """Warns of each promise that was found broken, once after each calibration."""
        while self._broken:
            found = self._broken.popleft()
            why = f"{found}: the promise is broken; calibrate on queries like these"
            warnings.warn(why, BrokenPromiseWarning, stacklevel=2)

    def close(self) -> None:
        """Stops the thread. A search that is being repeated is given up."""
        self._closing.set()
        self._stop.request()
        with self._lock:
            self._samples.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=10)

    def _work(self) -> None:
        """Repeats searches until none waits."""
        while True:
            with self._lock:
                if not self._samples:
                    self._thread = None  # the next offer starts another
                    return
                sample = self._samples.popleft()
            started = monotonic()
            try:
                with self._stop:
                    exact = sample.repeat()
            except Exception:  # the index was closed, files were removed, a member is gone: the caller has an answer
                self.skipped += 1
            else:
                self._record(sample, len(exact & sample.found) / max(1, len(exact)))
            del sample  # it refers to a version of the index
            self._closing.wait(REST * (monotonic() - started))

    def _record(self, sample: Sample, overlap: float) -> None:
        key = sample.policy, sample.where
        with self._lock:
            promise = self._promises.get(key)
            if promise is None or promise.calibration != sample.calibration:
                if promise is None and len(self._promises) >= PROMISES:
                    del self._promises[min(self._promises, key=lambda one: self._promises[one].interval.count)]
                promise = self._promises[key] = _Promise(sample.calibration)
            promise.interval.add(overlap)
            found = _audited(key, promise.interval)
            if found.broken and not promise.told:
                promise.told = True
                self._broken.append(found)


def _audited(key: tuple[Calibrated, str | None], interval: MeanInterval) -> Audited:
    return Audited(*key, interval.count, interval.mean, interval.lower, interval.upper)

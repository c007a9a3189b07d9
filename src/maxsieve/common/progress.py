"""Progress on standard error: a bar on a terminal (by `rich`, which is an extra), otherwise one line per minute."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TextIO

from maxsieve.common.printable import printable

INTERVAL = 60.0
"""Seconds between two lines."""

PER_MINUTE = ("pages",)
"""Units whose rate is given per minute, whatever their tokens: reading one may take longer than encoding it."""

_quiet_for: ContextVar[float] = ContextVar("quiet_for", default=0.0)


class Advance(Protocol):
    """Reports progress: how many more items are done and, if tokens determine the time, how many tokens they had."""

    def __call__(self, count: int, tokens: int = 0, /) -> None:
        """Moves the bar."""


@contextmanager
def progress_bar(description: str, total: int | None, *, shown: bool, unit: str = "") -> Iterator[Advance]:
    """Yields a function that reports progress; it does nothing if ``shown`` is false.

    On a terminal and in a notebook, a bar shows the rate (items or tokens per second, or pages per minute), the elapsed
    time and, with a ``total``, the remaining time. Elsewhere a line is printed every minute, and one at the end.
    ``unit`` names the items.

    >>> with progress_bar("indexing", 10, shown=False) as advance:
    ...     advance(10)
    """
    if not shown:
        yield _nothing
    elif _can_draw():
        with _drawn_bar(description, total, unit) as advance:
            yield advance
    else:
        lines = Lines(description, total, unit, quiet_for=_quiet_for.get())
        yield lines.advance
        lines.finish()


def announce(what: str) -> None:
    """Says what begins now, where its progress can't be shown."""
    print(f"maxsieve: {printable(what)}", file=sys.stderr, flush=True)


def only_if_long() -> None:
    """From now on, without a bar, work that takes less than a minute prints no lines."""
    _quiet_for.set(INTERVAL)


class Pace:
    """How long the remaining items take. Items that were only skipped, after an interruption, do not count."""

    def __init__(self, now: float) -> None:
        self._last, self._items, self._seconds = now, 0, 0.0
        self._has_tokens = self._worked = False

    def count(self, items: int, tokens: int, now: float) -> None:
        """Some items are done, or some tokens of items that are counted later. Items without tokens were skipped."""
        if tokens and not self._has_tokens:
            self._has_tokens, self._items, self._seconds = True, 0, 0.0
        self._worked |= bool(tokens)
        if not items:
            return
        if self._worked or not self._has_tokens:
            self._items += items
            self._seconds += now - self._last
        self._last, self._worked = now, False

    def left(self, items: int) -> float | None:
        """Seconds for so many further items; None if nothing is known yet.

        >>> pace = Pace(0.0)
        >>> pace.count(900, 0, 1.0)
        >>> pace.count(0, 20_000, 10.0)
        >>> pace.count(50, 0, 11.0)
        >>> pace.left(50)
        10.0
        """
        return None if not self._items else max(0, items) * self._seconds / self._items

    def per_minute(self, unit: str) -> str:
        """How many items are done in a minute, for people.

        >>> pace = Pace(0.0)
        >>> pace.count(3, 0, 6.0)
        >>> pace.per_minute("pages")
        '30 pages'
        """
        return f"{rate_text(60 * self._items / max(self._seconds, 1e-3))} {unit}"


class Lines:
    """Progress as lines. They are printed when an item is done, so no timer is needed."""

    def __init__(
        self,
        description: str,
        total: int | None,
        unit: str = "",
        *,
        quiet_for: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self._description, self._total, self._unit, self._quiet_for = description, total, unit, quiet_for
        self._clock, self._stream = clock, stream
        self._count = self._tokens = 0
        self._started = self._said = clock()
        self._pace = Pace(self._started)

    def advance(self, count: int, tokens: int = 0, /) -> None:
        """Counts finished items; prints a line if a minute has passed."""
        self._count += count
        self._tokens += tokens
        now = self._clock()
        self._pace.count(count, tokens, now)
        if now - self._said >= INTERVAL:
            self._say(f"{self._done()}, {self._rate(now)}{self._left()}")
            self._said = now

    def finish(self) -> None:
        """Prints the total, unless the work was shorter than ``quiet_for``."""
        now = self._clock()
        if now - self._started >= self._quiet_for:
            self._say(f"{self._done()} in {duration(now - self._started)}, {self._rate(now)}")

    def _done(self) -> str:
        of = "" if self._total is None else f"/{self._total:,}"
        return f"{self._count:,}{of} {self._unit}".rstrip()

    def _rate(self, now: float) -> str:
        if self._unit in PER_MINUTE:
            return f"{self._pace.per_minute(self._unit)} a minute"
        what, seconds = " tokens" if self._tokens else "", max(now - self._started, 1e-3)
        return f"{rate_text((self._tokens or self._count) / seconds)}{what} a second"

    def _left(self) -> str:
        left = None if self._total is None else self._pace.left(self._total - self._count)
        return "" if left is None else f", {duration(left)} left"

    def _say(self, what: str) -> None:
        print(f"maxsieve: {printable(self._description)}: {what}", file=self._stream or sys.stderr, flush=True)


def rate_text(rate: float) -> str:
    """A rate, for people.

    >>> rate_text(5812.4), rate_text(0.25)
    ('5,812', '0.2')
    """
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.2), duration(95), duration(840), duration(7500)
    ('0 s', '95 s', '14 min', '2 h 5 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _nothing(count: int, tokens: int = 0, /) -> None:
    pass


def _can_draw() -> bool:
    """Whether standard error is a terminal that can move its cursor, or a notebook's."""
    return "ipykernel" in sys.modules or (sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown"))


@contextmanager
def _drawn_bar(description: str, total: int | None, unit: str) -> Iterator[Advance]:
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ImportError as missing:
        raise ImportError("progress=True needs rich: pip install 'maxsieve[cli]'") from missing

    class RateColumn(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            if unit in PER_MINUTE:
                return Text(f"{pace.per_minute(unit)}/min")
            if task.fields["tokens"] and task.elapsed:
                return Text(f"{rate_text(task.fields['tokens'] / task.elapsed)} tokens/s")
            rate = task.finished_speed or task.speed or (task.completed / task.elapsed if task.elapsed else 0.0)
            return Text(f"{rate_text(rate)}/s")

    class LeftColumn(progress.ProgressColumn):
        max_refresh = 0.5

        def render(self, task: progress.Task) -> Text:
            left = None if task.total is None else pace.left(int(task.total - task.completed))
            return Text("" if left is None or task.finished else f"{duration(left)} left")

    pace = Pace(time.monotonic())
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        RateColumn(),
        progress.TimeElapsedColumn(),
        LeftColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(printable(description), total=total, tokens=0)

        def advance(count: int, tokens: int = 0, /) -> None:
            pace.count(count, tokens, time.monotonic())
            bar.update(task, advance=count, tokens=bar.tasks[0].fields["tokens"] + tokens)

        yield advance

"""Progress without a terminal: a line a minute, and one at the end."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from contextvars import copy_context

import pytest

from maxsieve.common.progress import INTERVAL, Lines, duration, only_if_long, progress_bar


class Told:
    """Progress lines with a clock that the test sets."""

    def __init__(self, total: int | None, unit: str = "documents", quiet_for: float = 0.0) -> None:
        self.now, self._stream = 1000.0, io.StringIO()
        clock = lambda: self.now  # noqa: E731
        self.it = Lines("adding", total, unit, quiet_for=quiet_for, clock=clock, stream=self._stream)

    def after(self, seconds: float, count: int, tokens: int = 0) -> list[str]:
        """What is printed when so many are done, so much later."""
        self.now += seconds
        self.it.advance(count, tokens)
        return self.new

    @property
    def new(self) -> list[str]:
        """What was printed since the last call."""
        said = self._stream.getvalue().splitlines()
        self._stream.seek(0)
        self._stream.truncate()
        return said


def test_a_line_a_minute_with_tokens_a_second_and_the_time_left() -> None:
    told = Told(5000)
    assert told.after(59, 100, 60_000) == []
    assert told.after(1, 100, 60_000) == ["maxsieve: adding: 200/5,000 documents, 2,000 tokens a second, 24 min left"]
    assert told.after(30, 100) == []
    assert told.after(30, 300, 240_000) == ["maxsieve: adding: 600/5,000 documents, 3,000 tokens a second, 13 min left"]


def test_pages_have_a_rate_per_minute_without_those_that_were_skipped() -> None:
    told = Told(None, "pages")
    told.after(1, 300)
    told.after(50, 0, 20_000)
    assert told.after(10, 16) == ["maxsieve: adding: 316 pages, 16 pages a minute"]
    told.after(29, 0, 20_000)
    told.after(1, 16)
    told.it.finish()
    assert told.new == ["maxsieve: adding: 332 pages in 91 s, 21 pages a minute"]


def test_what_was_skipped_does_not_shorten_the_time_left() -> None:
    told = Told(5000)
    told.after(60, 4000)
    assert told.after(60, 10, 5000)[0].endswith(", 1 h 39 min left")


def test_after_an_interruption_only_the_work_since_then_counts() -> None:
    """One long document at the start, then what is already there, then a minute of work: 500 are left of 1,000."""
    told = Told(1000)
    told.after(30, 0, 90_000)
    told.after(1, 1)
    for _ in range(399):
        told.after(0.01, 1)
    told.after(20, 0, 60_000)
    assert told.after(40, 100)[0].endswith(f", {duration(500 * (31 + 60) / 101)} left")


def test_without_tokens_or_total() -> None:
    told = Told(None, "")
    assert told.after(60, 30) == ["maxsieve: adding: 30, 0.5 a second"]
    assert told.after(60, 0) == ["maxsieve: adding: 30, 0.2 a second"]


def test_the_end_is_said_unless_it_came_soon() -> None:
    told = Told(5, quiet_for=INTERVAL)
    told.after(59, 5)
    told.it.finish()
    assert told.new == []
    told.now += 1
    told.it.finish()
    assert told.new == ["maxsieve: adding: 5/5 documents in 60 s, 0.1 a second"]


def test_more_than_was_expected_leaves_no_negative_time() -> None:
    assert Told(5).after(60, 9)[0].endswith(", 0 s left")


def test_who_asks_for_progress_gets_its_end_and_a_command_only_if_it_is_long(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> None:
        with progress_bar("adding", 3, shown=True) as advance:
            advance(3, 12)

    work()
    assert "adding: 3/3 in 0 s, " in capsys.readouterr().err
    copy_context().run(lambda: [only_if_long(), work()])
    assert capsys.readouterr().err == ""
    work()
    assert "3/3" in capsys.readouterr().err


def test_a_failure_ends_it_without_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress_bar("adding", 3, shown=True):
        raise ZeroDivisionError
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("unit", "rate"), [("documents", " tokens/s"), ("pages", " pages/min")])
def test_a_terminal_has_a_bar_with_tokens_a_second_or_pages_a_minute(unit: str, rate: str) -> None:
    script = f"""
from maxsieve.common.progress import progress_bar
with progress_bar("adding", 2, shown=True, unit="{unit}") as advance:
    advance(1, 500)
    advance(1, 500)
"""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", script], stderr=theirs, env=env, timeout=60, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "2/2" in shown
    assert re.search(rf"[1-9][\d,]*{rate}", shown)
    assert "maxsieve:" not in shown

"""The memory and CPU time of the processes of a Ray that this process has started, as Linux counts them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MARK = "MAXSIEVE_BENCHMARK"
TICKS = os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Observes this process, and all that it started after `mark`, twice a second until it is stopped."""

    def __init__(self, also: Callable[[], object] = lambda: None) -> None:
        super().__init__(daemon=True)
        self._also, self._over = also, threading.Event()
        self._mark = f"{MARK}={os.environ[MARK]}".encode()
        self.peaks: dict[str, int] = {}
        self._before: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._look()
        self._before, self.peaks = dict(self._seconds), {}
        self.start()

    def run(self) -> None:
        """Until it is stopped."""
        while not self._over.wait(0.5):
            self._look()
            self._also()

    def stop(self) -> None:
        """Observes once more."""
        self._over.set()
        self.join()
        self._look()

    @property
    def seconds(self) -> float:
        """CPU time of all of them together. Processes that have ended count until they were last seen."""
        return sum(self._seconds.values()) - sum(self._before.values())

    def _look(self) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                self._note(process)

    def _note(self, process: Path) -> None:
        if process.name == str(os.getpid()):
            name = "this"
        elif self._mark in (process / "environ").read_bytes().split(b"\0"):
            name = re.split(r"[.(\0 ]", (process / "cmdline").read_text())[0]
        else:
            return
        peak = re.search(r"VmHWM:\s+([0-9]+)", (process / "status").read_text())
        times = (process / "stat").read_text().rpartition(")")[2].split()
        self._seconds[process.name] = (int(times[11]) + int(times[12])) / TICKS
        self.peaks[name] = max(self.peaks.get(name, 0), int(peak[1]) << 10 if peak else 0)


def mark() -> None:
    """Call it before Ray is started."""
    os.environ[MARK] = str(os.getpid())

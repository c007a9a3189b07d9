"""Limits of processes: the calls for Windows, structure by structure, and the reading of memory on macOS."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from maxsieve.common import machine, windows
from platforms.sides import side


class Kernel:
    """The functions of Windows' library that are called. Records its arguments."""

    def __init__(self) -> None:
        self.limits: list[windows.ExtendedLimits] = []
        self.jobs = 0

    def GetCurrentProcess(self) -> int:  # noqa: N802 - these are its names
        return -1

    def CreateJobObjectW(self, security: None, name: None) -> int:  # noqa: N802
        self.jobs += 1
        return 7

    def AssignProcessToJobObject(self, job: int, process: int) -> int:  # noqa: N802
        assert (job, process) == (7, -1)
        return 1

    def SetInformationJobObject(self, job: int, kind: int, limits: Any, size: int) -> int:  # noqa: N802
        assert (job, kind, size) == (7, 9, 144)
        self.limits.append(windows.ExtendedLimits.from_buffer_copy(limits._obj))
        return 1

    def K32GetProcessMemoryInfo(self, process: int, counters: Any, size: int) -> int:  # noqa: N802
        assert (process, size, counters._obj.size) == (-1, 72, 72)
        counters._obj.committed = 1000
        return 1

    def GlobalMemoryStatusEx(self, status: Any) -> int:  # noqa: N802
        assert status._obj.size == 64
        status._obj.total = 1 << 35
        return 1


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(windows, "_kernel", lambda: made)
    windows._own_job.cache_clear()
    return made


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    return side("processes", "win32")


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the sizes are those of 64 bits")
def test_structures_are_as_large_as_documented() -> None:
    sizes = {windows.BasicLimits: 64, windows.ExtendedLimits: 144, windows.MemoryStatus: 64, windows.MemoryCounters: 72}
    assert {one: ctypes.sizeof(one) for one in sizes} == sizes
    assert windows.ExtendedLimits.process_memory.offset == 112
    assert windows.MemoryCounters.committed.offset == 56
    assert windows.BasicLimits.flags.offset == 16


def test_a_process_limits_itself_by_a_job(kernel: Kernel, on_windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", lambda: 2.5)
    on_windows.limit_memory(5000)
    on_windows.limit_time(300)
    on_windows.limit_time(300)
    first, second, third = kernel.limits
    assert kernel.jobs == 1
    assert (first.basic.flags, first.process_memory) == (0x100 | 0x400, 6000)
    assert (second.basic.flags, second.process_memory) == (0x100 | 0x400 | 0x2, 6000)
    assert second.basic.process_time == third.basic.process_time == 3_025_000_000


def test_the_memory_of_a_machine(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert machine.total_bytes() == 1 << 35


@pytest.mark.parametrize(
    ("code", "ending"), [(1816, "slow"), (0xC0000017, "full"), (0xC0000005, "crashed"), (3, "crashed")]
)
def test_how_a_process_of_windows_ended(on_windows: Any, code: int, ending: str) -> None:
    assert on_windows.how_ended(code) == ending


def test_signals_and_groups(on_windows: Any) -> None:
    assert on_windows.ENDING_SIGNALS == (signal.SIGINT, signal.SIGTERM, 21)
    assert on_windows.own_group_options() == {"creationflags": 0x200}
    assert side("processes", "linux").own_group_options() == {"start_new_session": True}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_macos_ends_a_process_that_takes_too_much_memory() -> None:
    """In a child: Linux counts in KiB, macOS in bytes, so that a little more is too much."""
    child = os.fork()
    if not child:
        side("processes", "darwin").limit_memory(20_000)
        taken = bytearray(64 << 20)
        taken[:] = b"x" * len(taken)
        time.sleep(60)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def test_a_pipe_that_nobody_reads_any_more(on_windows: Any) -> None:
    """Windows reports "invalid argument" for it, but also for a file that can't be opened."""
    no_reader, bad_name = OSError(errno.EINVAL, "Invalid argument"), OSError(errno.EINVAL, "Invalid argument", "a?b")
    assert on_windows.is_closed_pipe(no_reader)
    assert not on_windows.is_closed_pipe(bad_name)
    linux_side = side("processes", "linux")
    assert not linux_side.is_closed_pipe(no_reader)
    for system in (on_windows, linux_side):
        assert system.is_closed_pipe(BrokenPipeError())
        assert not system.is_closed_pipe(ValueError())

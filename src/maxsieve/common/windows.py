"""Functions of Windows that Python lacks: the size of the memory, and job objects, which limit processes.

Everything is as Microsoft documents it. Imported on Windows only.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from typing import Any

EXTENDED_LIMITS = 9
PROCESS_TIME, PROCESS_MEMORY, NO_ERROR_BOX = 0x2, 0x100, 0x400
"""Flags that say which limits of a job are set."""

TICKS = 10_000_000
"""A second, as Windows counts processor time."""


_ctypes: Any = ctypes
"""With the names that it has on Windows only."""


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", c_int64),
        ("job_time", c_int64),
        ("flags", c_uint32),
        ("least_working_set", c_size_t),
        ("most_working_set", c_size_t),
        ("processes", c_uint32),
        ("affinity", c_size_t),
        ("priority", c_uint32),
        ("scheduling", c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", BasicLimits),
        ("input_output", c_uint64 * 6),
        ("process_memory", c_size_t),
        ("job_memory", c_size_t),
        ("most_process_memory", c_size_t),
        ("most_job_memory", c_size_t),
    )


class MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = (("size", c_uint32), ("load", c_uint32), ("total", c_uint64), ("others", c_uint64 * 6))


class MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS."""

    _fields_ = (
        ("size", c_uint32),
        ("faults", c_uint32),
        ("most_working_set", c_size_t),
        ("working_set", c_size_t),
        ("pools", c_size_t * 4),
        ("committed", c_size_t),
        ("most_committed", c_size_t),
    )


def machine_bytes() -> int:
    """The machine's memory."""
    status = MemoryStatus(size=ctypes.sizeof(MemoryStatus))
    _check(_kernel().GlobalMemoryStatusEx(ctypes.byref(status)))
    return int(status.total)


def process_bytes() -> int:
    """The memory of this process, as a job object counts it."""
    counters = MemoryCounters(size=ctypes.sizeof(MemoryCounters))
    kernel = _kernel()
    _check(kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.size))
    return int(counters.committed)


def limit_job(*, memory: int | None = None, seconds: float | None = None) -> None:
    """Limits the bytes of this process, or its processor time since it began; a limit that is not given stays.

    Memory beyond the limit can't be allocated; a process that exceeds its time is ended. If it crashes, Windows
    shows no dialog that waits for a click.
    """
    job, limits = _own_job()
    if memory is not None:
        limits.basic.flags |= PROCESS_MEMORY
        limits.process_memory = memory
    if seconds is not None:
        limits.basic.flags |= PROCESS_TIME
        limits.basic.process_time = int(seconds * TICKS)
    _check(_kernel().SetInformationJobObject(job, EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)))


@lru_cache(maxsize=1)
def _own_job() -> tuple[Any, ExtendedLimits]:
    """A job with this process in it, made once. Its handle lives as long as the process."""
    kernel = _kernel()
    job = kernel.CreateJobObjectW(None, None)
    _check(job)
    _check(kernel.AssignProcessToJobObject(job, kernel.GetCurrentProcess()))
    limits = ExtendedLimits()
    limits.basic.flags = NO_ERROR_BOX
    return job, limits


@lru_cache(maxsize=1)
def _kernel() -> Any:
    """The system's library, with the types of what is called here: handles are wider than ctypes takes them for."""
    kernel = _ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.GetCurrentProcess.restype = c_void_p
    kernel.CreateJobObjectW.restype = c_void_p
    kernel.CreateJobObjectW.argtypes = (c_void_p, c_void_p)
    kernel.AssignProcessToJobObject.argtypes = (c_void_p, c_void_p)
    kernel.SetInformationJobObject.argtypes = (c_void_p, c_int, c_void_p, c_uint32)
    kernel.K32GetProcessMemoryInfo.argtypes = (c_void_p, c_void_p, c_uint32)
    kernel.GlobalMemoryStatusEx.argtypes = (c_void_p,)
    return kernel


def _check(done: object) -> None:
    if not done:
        raise _ctypes.WinError(_ctypes.get_last_error())

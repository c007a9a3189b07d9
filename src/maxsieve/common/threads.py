"""The number of threads of a call."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from maxsieve.common.checks import as_count

MOST = 1024
"""Threads of one call."""


def thread_count(threads: int | None) -> int:
    """The requested number, or the number of CPUs that this process may use: by its affinity and its cgroup's quota.

    >>> thread_count(3)
    3
    """
    if threads is not None:
        return as_count(threads, "threads", at_least=1, at_most=MOST)
    cpus, quota = allowed_cpus(), cgroup_quota()
    return cpus if cpus <= quota and cpus <= MOST else max(1, math.ceil(min(MOST, cpus, quota)))


def allowed_cpus() -> int:
    """The CPUs that the system's scheduler lets this process run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def cgroup_quota() -> float:
    """CPUs granted by cgroup v2 (the tightest of the process's group and those above it) or v1; else infinite."""
    root = Path("/sys/fs/cgroup")
    quotas = [_quota(root / "cpu/cpu.cfs_quota_us", root / "cpu/cpu.cfs_period_us")]
    with suppress(OSError, StopIteration):
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
        group = next(line.split(":", 2)[2].strip() for line in groups if line.startswith("0::"))
        folder = root / group.lstrip("/")
        quotas += [_quota(place / "cpu.max") for place in (folder, *folder.parents) if place.is_relative_to(root)]
    return min(quotas)


def _quota(*files: Path) -> float:
    """The CPU quota divided by its period, from one file of cgroup v2 or two of v1; infinite without a limit."""
    try:
        granted, passed = " ".join(file.read_text() for file in files).split()
        return int(granted) / int(passed) if int(granted) > 0 else math.inf
    except (OSError, ValueError):  # also for the word "max"
        return math.inf

"""How many threads a call may use."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

from maxsieve.common.checks import as_count


def thread_count(threads: int | None) -> int:
    """The number asked for, or the CPUs this process may use: its affinity, and no more than its cgroup's quota.

    >>> thread_count(3)
    3
    """
    if threads is not None:
        return as_count(threads, "threads", at_least=1, at_most=1024)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _cgroup_quota()))


@lru_cache(maxsize=1)
def _cgroup_quota() -> int:
    """CPUs granted by cgroup v2 (the tightest of the process's group and those above it) or v1, rounded up."""
    root = Path("/sys/fs/cgroup")
    tightest = math.inf
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        group = next(line.split(":", 2)[2].strip() for line in groups if line.startswith("0::"))
        folder = root / group.lstrip("/")
        for place in (folder, *folder.parents):
            tightest = min(tightest, _quota(place / "cpu.max"))
            if place == root:
                break
    except (OSError, StopIteration):
        pass
    try:
        quota = int((root / "cpu/cpu.cfs_quota_us").read_text())
        period = int((root / "cpu/cpu.cfs_period_us").read_text())
        if quota > 0:
            tightest = min(tightest, quota / period)
    except (OSError, ValueError):
        pass
    return math.ceil(tightest) if tightest < math.inf else 1024


def _quota(cpu_max: Path) -> float:
    try:
        quota, period = cpu_max.read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return math.inf

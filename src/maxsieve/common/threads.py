"""How many threads a call may use."""

from __future__ import annotations

import math
import os
from contextlib import suppress
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
    quotas = [_quota(root / "cpu/cpu.cfs_quota_us", root / "cpu/cpu.cfs_period_us")]
    with suppress(OSError, StopIteration):
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        group = next(line.split(":", 2)[2].strip() for line in groups if line.startswith("0::"))
        folder = root / group.lstrip("/")
        quotas += [_quota(place / "cpu.max") for place in (folder, *folder.parents) if place.is_relative_to(root)]
    return math.ceil(min(1024, *quotas))


def _quota(*files: Path) -> float:
    """Time granted by time passed, as one file of cgroup v2 has it or two of v1; infinite where there is no limit."""
    try:
        granted, passed = " ".join(file.read_text() for file in files).split()
        return int(granted) / int(passed) if int(granted) > 0 else math.inf
    except (OSError, ValueError):  # the word "max" among them
        return math.inf

"""What the figures were measured on and with."""

from __future__ import annotations

import re
from pathlib import Path

import maxsieve as ms
from maxsieve.common.threads import thread_count
from maxsieve.lab.facts import cpu, system, total_bytes, versions

PACKAGES = ("numpy", "colbandit", "maxsim-cpu", "numkong", "torch", "sentence-transformers", "pylate", "qdrant-client")


def describe() -> dict[str, str]:
    """CPU, memory, kernels and versions, in words."""
    return {
        "CPU": cpu(),
        "CPUs to use": str(thread_count(None)),
        "kernels": ", ".join(ms.isas()),
        "system": system(),
        **versions(PACKAGES),
    }


def free_bytes() -> int:
    """Memory that can be had without swapping; a guess of half of it all where the system doesn't say."""
    info = Path("/proc/meminfo")
    if info.is_file():
        return 1024 * int(re.findall(r"^MemAvailable:\s*(\d+)", info.read_text(), re.MULTILINE)[0])
    return total_bytes() // 2

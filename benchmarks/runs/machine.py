"""What the figures were measured on."""

from __future__ import annotations

import os
import re
from pathlib import Path

import maxsieve as ms
from maxsieve.common.machine import cpu, system, total_bytes
from maxsieve.common.threads import thread_count
from maxsieve.lab.runs import versions

PACKAGES = ("numpy", "colbandit", "maxsim-cpu", "numkong", "torch", "sentence-transformers", "pylate", "qdrant-client")
PACKAGES += ("qdrant-edge-py", "lancedb")


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
    """Memory that is available without swapping. If the system doesn't say, half of all memory."""
    info = Path("/proc/meminfo")
    if info.is_file():
        return 1024 * int(re.findall(r"^MemAvailable:\s*(\d+)", info.read_text(), re.MULTILINE)[0])
    return total_bytes() // 2


def process_bytes() -> int | None:
    """Resident memory of this process, including mapped files. None if the system does not say."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    return 1024 * sum(map(int, re.findall(r"^Rss(?:Anon|File):\s*(\d+)", status.read_text(), re.MULTILINE)))


def forget(folder: Path) -> None:
    """Asks the system to drop the folder's files from its cache, so that only what is read later is resident."""
    os.sync()
    for path in folder.iterdir():
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)

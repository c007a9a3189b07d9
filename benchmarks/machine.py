"""What the figures were measured on and with."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import maxsieve as ms
from maxsieve.threads import thread_count

PACKAGES = ("numpy", "colbandit", "maxsim-cpu", "numkong", "torch", "sentence-transformers", "pylate", "qdrant-client")


def describe() -> dict[str, str]:
    """CPU, memory, kernels and versions, in words."""
    return {
        "CPU": cpu(),
        "CPUs to use": str(thread_count(None)),
        "kernels": ", ".join(ms.isas()),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "maxsieve": version("maxsieve"),
        **{name: found for name in PACKAGES if (found := installed(name))},
    }


def cpu() -> str:
    """The CPU's name for itself."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.*)$", info.read_text(), re.MULTILINE) if info.is_file() else []
    return names[0] if names else platform.processor() or platform.machine()


def installed(name: str) -> str | None:
    """The version of a distribution, if it is there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def free_bytes() -> int:
    """Memory that can be had without swapping; a guess of half of it all where the system doesn't say."""
    info = Path("/proc/meminfo")
    if info.is_file():
        return 1024 * int(re.findall(r"^MemAvailable:\s*(\d+)", info.read_text(), re.MULTILINE)[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2

"""Facts about this machine: CPU, memory, operating system. Nothing here names the user or the host."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FEATURES = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "i8mm", "sve", "sve2"),
)
"""CPU features that kernels use or could use, by their names in Linux."""

APPLE_FEATURES = {
    "hw.optional.avx2_0": "avx2",
    "hw.optional.fma": "fma",
    "hw.optional.AdvSIMD": "asimd",
    "hw.optional.arm.FEAT_DotProd": "asimddp",
    "hw.optional.arm.FEAT_I8MM": "i8mm",
}


def cpu() -> str:
    """The name of the CPU, as it reports it."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string") or platform.machine()
    names = re.findall(r"^model name\s*:\s*(.*)$", _cpuinfo(), re.MULTILINE)
    return names[0] if names else platform.processor() or platform.machine()


def cpu_features() -> list[str] | None:
    """Those of `FEATURES` that the system reports; None where it does not say.

    >>> features = cpu_features()
    >>> features is None or set(features) <= set(FEATURES)
    True
    """
    if sys.platform == "darwin":
        return [ours for theirs, ours in APPLE_FEATURES.items() if _sysctl(theirs) == "1"]
    lines = re.findall(r"^(?:flags|Features)\s*:\s*(.*)$", _cpuinfo(), re.MULTILINE)
    if not lines:
        return None
    reported = set(lines[0].split())
    return [feature for feature in FEATURES if feature in reported]


def total_bytes() -> int:
    """The machine's memory; 0 where the system does not say."""
    if sys.platform == "win32":
        from maxsieve.common import windows

        return windows.machine_bytes()
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def system() -> str:
    """Operating system and Python."""
    return f"{platform.system()} {platform.release()}, Python {platform.python_version()}"


def c_library() -> str:
    """The C library and its version, such as ``glibc 2.36`` or ``musl``; empty where that says nothing."""
    name, release = platform.libc_ver()
    if name:
        return f"{name} {release}".strip()
    return "musl" if any(Path("/lib").glob("ld-musl-*")) else ""


def installed(name: str) -> str | None:
    """The version of a distribution, if it is there. The package itself is not imported.

    >>> installed("no-such-package") is None
    True
    """
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpuinfo() -> str:
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""


def _sysctl(name: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True
        ).stdout.strip()
    return ""

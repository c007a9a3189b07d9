"""What figures were measured on and with: machine, versions, date and command line, in words."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from maxsieve import isa
from maxsieve.common.threads import thread_count

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "sentence-transformers", "torch", "scipy", "matplotlib")
"""What takes part in an experiment, besides maxsieve itself."""


def facts(*, encoder: str = "", packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Everything a reader needs to judge a figure, and to get it again.

    >>> list(facts())
    ['machine', 'versions', 'date', 'command']
    """
    return {
        "machine": machine(),
        "versions": versions(packages) | ({"encoder": encoder} if encoder else {}),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command(sys.argv),
    }


def machine() -> dict[str, str]:
    """CPU, the share of it that this process may use, the kernel in use, and memory."""
    return {
        "CPU": cpu(),
        "CPUs to use": str(thread_count(None)),
        "kernel": isa(),
        "memory": f"{total_bytes() / 2**30:.1f} GiB",
        "system": system(),
    }


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Of maxsieve, and of those packages that are installed.

    >>> list(versions(["numpy", "no-such-package"]))
    ['maxsieve', 'numpy']
    """
    return {"maxsieve": version("maxsieve"), **{name: found for name in packages if (found := installed(name))}}


def cpu() -> str:
    """The CPU's name for itself."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.*)$", info.read_text(), re.MULTILINE) if info.is_file() else []
    return names[0] if names else platform.processor() or platform.machine()


def system() -> str:
    """Operating system and Python."""
    return f"{platform.system()} {platform.release()}, Python {platform.python_version()}"


def installed(name: str) -> str | None:
    """The version of a distribution, if it is there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def total_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def command(arguments: Sequence[str]) -> str:
    """The command line as one would type it.

    >>> command(["/somewhere/maxsieve/cli/__main__.py", "lab", "list"]), command(["/bin/maxsieve", "a b"])
    ('python -m maxsieve.cli lab list', "maxsieve 'a b'")
    """
    program = Path(arguments[0])
    words = ["python", "-m", "maxsieve.cli"] if program.name == "__main__.py" else [program.name]
    return shlex.join([*words, *arguments[1:]])

"""The report as data. Each part is examined separately: one that fails becomes an error message."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import maxsieve
from maxsieve.common.cache import cache_folder
from maxsieve.common.machine import c_library, cpu, cpu_features, installed, total_bytes
from maxsieve.common.threads import allowed_cpus, cgroup_quota, thread_count
from maxsieve.doctor.cache_entries import KINDS, cache_entries
from maxsieve.doctor.privacy import without_user
from maxsieve.storage import blocks, manifest
from maxsieve.text.collection import description
from maxsieve.text.encoders.models import list_models

HOSTS = (
    "colpali-engine",
    "haystack-ai",
    "langchain-core",
    "llama-index-core",
    "mteb",
    "pylate",
    "pyterrier",
    "qdrant-client",
    "rerankers",
    "torch",
)
"""Packages that adapters are for; no extra has them."""
REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)\s*(\[(?P<extras>[^]]*)])?.*;.*\bextra *== *[\"'](?P<extra>[\w.-]+)[\"']")


def packages() -> dict[str, str | None]:
    """NumPy, every package of an extra and those that adapters are for, with the version; None if it is missing."""
    names = {name for some in _extras().values() for name in some}.union(HOSTS)
    return {name: installed(name) for name in ["numpy", *sorted(names, key=str.lower)]}


def missing_by_extra() -> dict[str, list[str]]:
    """The missing packages of each extra; an empty list if it is complete."""
    return {extra: sorted(name for name in names if installed(name) is None) for extra, names in _extras().items()}


@lru_cache(maxsize=1)
def _extras() -> dict[str, set[str]]:
    """The packages of each extra, including those of extras that it includes; `all` says nothing new."""
    own: dict[str, set[str]] = {}
    included: dict[str, set[str]] = {}
    for line in _requirements():
        if found := REQUIREMENT.match(line):
            extra = found["extra"]
            own.setdefault(extra, set())
            included.setdefault(extra, set())
            if found["name"] == "maxsieve":
                included[extra].update(re.split(r"\s*,\s*", found["extras"] or ""))
            else:
                own[extra].add(found["name"])

    def whole(extra: str) -> set[str]:
        return own.get(extra, set()).union(*(whole(other) for other in included.get(extra, ())))

    return {extra: whole(extra) for extra in sorted(own.keys() - {"all"})}


def _requirements() -> list[str]:
    try:
        return requires("maxsieve") or []
    except PackageNotFoundError:  # maxsieve is not installed, but run from its sources
        return []


def rounding() -> str:
    """How sums are rounded. Anything but ``to nearest`` was set by another library.

    >>> rounding()
    'to nearest'
    """
    number, less_than_half_a_step = 1.0, 2.0**-55
    if number + less_than_half_a_step > number:
        return "up"
    if number - less_than_half_a_step == number:
        return "to nearest"
    return "down" if -number + less_than_half_a_step == -number else "to zero"


def denormals() -> str:
    """How denormal numbers are handled. Anything but ``kept`` was set by another library.

    >>> denormals()
    'kept'
    """
    smallest_normal, half, denormal, scale = sys.float_info.min, 0.5, 2.0**-1074, 2.0**1000
    flushed = smallest_normal * half == 0.0
    ignored = denormal * scale == 0.0
    return "flushed to zero" if flushed else "read as zero" if ignored else "kept"


FORMATS = {"index": manifest.VERSION, "segment": blocks.VERSION, "collection": description.VERSION}
"""The newest version of each format that is read; all older ones are, too."""
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
"""Environment variables that set the number of threads of other libraries."""


def examine() -> dict[str, dict[str, Any]]:
    """Every part of the report, as JSON-compatible data.

    >>> list(examine())[:4]
    ['maxsieve', 'system', 'cpu', 'kernels']
    >>> examine()["kernels"]["available"][-1]
    'scalar'
    """
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "maxsieve": _maxsieve,
        "system": _system,
        "cpu": lambda: {"model": cpu(), "features": cpu_features()},
        "kernels": _kernels,
        "threads": _threads,
        "floating_point": lambda: {"rounding": rounding(), "denormals": denormals()},
        "formats": lambda: FORMATS,
        "cache": _cache,
        "models": lambda: {model.name: model.present for model in list_models()},
        "packages": lambda: {"versions": packages(), "missing": missing_by_extra()},
        "settings": _settings,
    }
    report = {name: _or_error(part) for name, part in parts.items()}
    cleaned: dict[str, dict[str, Any]] = without_user(report)
    return cleaned


def _or_error(part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The part, or the error message if it failed: the doctor itself must not fail."""
    try:
        return part()
    except Exception as problem:
        return {"problem": f"{type(problem).__name__}: {problem}"}


def _maxsieve() -> dict[str, Any]:
    core = find_spec("maxsieve._core")
    return {
        "version": maxsieve.__version__,
        "installed": installed("maxsieve"),
        "core": Path(core.origin).name if core and core.origin else None,
    }


def _system() -> dict[str, Any]:
    distribution = None
    with suppress(OSError, AttributeError):
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME")
    return {
        "system": f"{platform.system()} {platform.release()}",
        "distribution": distribution,
        "architecture": platform.machine(),
        "c_library": c_library() or None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "bits": sys.maxsize.bit_length() + 1,
        "memory_bytes": total_bytes() or None,
    }


def _kernels() -> dict[str, Any]:
    found: dict[str, Any] = {
        "available": maxsieve.isas(),
        "MAXSIEVE_ISA": os.environ.get("MAXSIEVE_ISA") or None,
        "chosen": None,
    }
    try:
        found["chosen"] = maxsieve.isa()
    except ValueError as problem:  # the variable names a kernel that this machine lacks
        found["problem"] = str(problem)
    return found


def _threads() -> dict[str, Any]:
    quota = cgroup_quota()
    return {
        "cpus": os.cpu_count(),
        "allowed": allowed_cpus(),
        "cgroup_quota": None if math.isinf(quota) else quota,
        "used": thread_count(None),
        "environment": {name: os.environ[name] for name in THREAD_SETTINGS if name in os.environ},
    }


def _cache() -> dict[str, Any]:
    folder, found = cache_folder(), cache_entries()
    kinds = {kind: [entry for entry in found if entry.kind == kind] for kind in KINDS}
    nearest = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    return {
        "folder": str(folder),
        "exists": folder.exists(),
        "usable": nearest.is_dir() and os.access(nearest, os.R_OK | os.W_OK | os.X_OK),
        "kept": {
            kind: {"count": len(some), "bytes": sum(entry.nbytes for entry in some)}
            for kind, some in kinds.items()
            if some
        },
    }


def _settings() -> dict[str, Any]:
    """Which of our environment variables are set. Values are left out: one is an API key, others are paths."""
    return {"set": sorted(name for name in os.environ if name.startswith("MAXSIEVE_"))}

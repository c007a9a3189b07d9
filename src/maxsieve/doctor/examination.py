"""The report as data. Each part is examined separately: one that fails becomes an error message."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import maxsieve
from maxsieve.common.cache import cache_folder
from maxsieve.common.machine import c_library, cpu, cpu_features, installed, total_bytes
from maxsieve.common.threads import allowed_cpus, cgroup_quota, thread_count
from maxsieve.doctor.cache_entries import KINDS, cache_entries
from maxsieve.doctor.extras import missing_by_extra, packages
from maxsieve.doctor.floating_point import denormals, rounding
from maxsieve.doctor.privacy import without_user
from maxsieve.storage import blocks, manifest
from maxsieve.text.collection import description
from maxsieve.text.encoders.models import list_models

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
        "cpu": _cpu,
        "kernels": _kernels,
        "threads": _threads,
        "floating_point": _floating_point,
        "formats": _formats,
        "cache": _cache,
        "models": _models,
        "packages": _packages,
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


def _cpu() -> dict[str, Any]:
    return {"model": cpu(), "features": cpu_features()}


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


def _floating_point() -> dict[str, Any]:
    return {"rounding": rounding(), "denormals": denormals()}


def _formats() -> dict[str, Any]:
    """The newest version of each format that is read; all older ones are, too."""
    return {"index": manifest.VERSION, "segment": blocks.VERSION, "collection": description.VERSION}


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


def _models() -> dict[str, Any]:
    return {model.name: model.present for model in list_models()}


def _packages() -> dict[str, Any]:
    return {"versions": packages(), "missing": missing_by_extra()}


def _settings() -> dict[str, Any]:
    """Which of our environment variables are set. Values are left out: one is an API key, others are paths."""
    return {"set": sorted(name for name in os.environ if name.startswith("MAXSIEVE_"))}

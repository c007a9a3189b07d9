"""Packages that are not always installed, and the compiled part of this one: errors that say what to do."""

from __future__ import annotations

import importlib
import os
import platform
from pathlib import Path
from typing import Any

TELEMETRY = {
    "onnxruntime": ("ORT_DISABLE_TELEMETRY", "1"),
    "ray": ("RAY_USAGE_STATS_ENABLED", "0"),
    "haystack": ("HAYSTACK_TELEMETRY_ENABLED", "False"),
    **dict.fromkeys(
        ("huggingface_hub", "transformers", "sentence_transformers", "pylate", "mteb", "rerankers"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
    ),
}
"""Libraries that tell their makers how they are used, or import one that does, and the variable that prevents it."""


def optional(module: str, extra: str = "", *, package: str = "") -> Any:
    """Imports a module that may be missing; the error says which extra to install, or which package of others.

    Its telemetry is off, unless the user has set the library's own variable.

    >>> optional("no_such_module", "arrow")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'maxsieve[arrow]'
    >>> optional("no_such_module", package="such>=1")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'such>=1'
    """
    library = module.partition(".")[0]
    if library in TELEMETRY:
        os.environ.setdefault(*TELEMETRY[library])
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name != library:
            raise
        wanted = package or f"maxsieve[{extra}]"
        raise ModuleNotFoundError(f"this needs {library}: pip install '{wanted}'", name=library) from None


def why_not_loaded(problem: ImportError) -> str:
    """A sentence with what a bug report needs: the cause, Python, the system, and which files there are.

    >>> print(why_not_loaded(ImportError("file too short")))  # doctest: +ELLIPSIS
    the compiled part of maxsieve can't be loaded: file too short. This is ... Install maxsieve again with this Python
    """
    files = sorted(path.name for path in Path(__file__).parents[1].glob("_core*") if path.suffix in (".so", ".pyd"))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"the compiled part of maxsieve can't be loaded: {problem}. This is {python} on {platform.system()} "
        f"{platform.machine()}; compiled files in the package: {', '.join(files) or 'none'}. Install maxsieve again "
        "with this Python"
    )

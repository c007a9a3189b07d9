"""Packages that are not always installed."""

from __future__ import annotations

import importlib
import os
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

"""Packages that are not always installed."""

from __future__ import annotations

import importlib
from typing import Any


def optional(module: str, extra: str = "", *, package: str = "") -> Any:
    """Imports a module that may be missing; the error says which extra to install, or which package of others.

    >>> optional("no_such_module", "arrow")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'maxsieve[arrow]'
    >>> optional("no_such_module", package="such>=1")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'such>=1'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        missing = module.partition(".")[0]
        if problem.name != missing:
            raise
        wanted = package or f"maxsieve[{extra}]"
        raise ModuleNotFoundError(f"this needs {missing}: pip install '{wanted}'", name=missing) from None

"""Packages that are not always installed."""

from __future__ import annotations

import importlib
from typing import Any


def optional(module: str, extra: str) -> Any:
    """Imports a module that may be missing; the error says which extra to install.

    >>> optional("no_such_module", "arrow")
    Traceback (most recent call last):
    ModuleNotFoundError: this needs no_such_module: pip install 'maxsieve[arrow]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        missing = module.partition(".")[0]
        if problem.name != missing:
            raise
        raise ModuleNotFoundError(f"this needs {missing}: pip install 'maxsieve[{extra}]'", name=missing) from None

"""Packages that are not always installed, and the compiled part of this one: errors that say what to do."""

from __future__ import annotations

import importlib
import platform
from pathlib import Path
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

"""The error message if the compiled part of the package can't be loaded. Then not even the doctor works."""

from __future__ import annotations

import platform
from pathlib import Path


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

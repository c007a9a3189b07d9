"""Which environment of `make test-adapters` tests what."""

from __future__ import annotations

import re
from pathlib import Path

ALONE = {"plaid", "pylate"}
"""Packages with an environment of their own, which has their name; all others share ``together``."""

SHARED = {"environments.py", "tensors.py", "test_docs.py", "test_tensors.py"}
"""Files that are tested in each environment."""


def environment_of(name: str) -> str:
    """The environment of a package, by the name of its adapter, or of a test or a section of docs/adapters.md.

    >>> environment_of("test_pylate_index.py"), environment_of("PyLate"), environment_of("Sentence Transformers")
    ('pylate', 'pylate', 'together')
    """
    words = re.split(r"[^a-z0-9]+", name.lower().removesuffix(".py"))
    return next((word for word in words if word in ALONE), "together")


def belongs(path: Path, environment: str) -> bool:
    """Whether a module or a test is for an environment; folders and what all tests share are for each.

    >>> belongs(Path("tests/adapters/test_docs.py"), "pylate"), belongs(Path("adapters/mteb.py"), "pylate")
    (True, False)
    """
    shared = path.suffix != ".py" or path.name.startswith("_") or path.name in SHARED
    return shared or environment_of(path.name) == environment

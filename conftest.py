"""Adapters are tested where their packages are: `make test-adapters` names the environment; others leave them out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent
sys.path.append(str(ROOT / "tests" / "adapters"))

from environments import belongs  # noqa: E402

if os.environ.get("MAXSIEVE_ADAPTERS") == "together":
    import torchvision_operators  # noqa: F401 - before anything imports torchvision

ADAPTERS = [ROOT / "src" / "maxsieve" / "adapters", ROOT / "tests" / "adapters"]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """True for what belongs to another environment, or to any but this one."""
    environment = os.environ.get("MAXSIEVE_ADAPTERS")
    if collection_path == ROOT / "docs" / "adapters.md":  # tests/adapters/test_docs.py runs it, section by section
        return True
    if collection_path == ROOT / "tests" / "adapters" / "snippets":  # modules with the names of packages
        return True
    if not any(collection_path.is_relative_to(folder) for folder in ADAPTERS):
        return None
    return None if environment and belongs(collection_path, environment) else True

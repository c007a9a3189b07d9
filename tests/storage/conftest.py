"""Frozen indexes: those that a test file names as INDEXES, what each must answer, and a copy that may be changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "frozen" in metafunc.fixturenames:
        metafunc.parametrize("frozen", metafunc.module.INDEXES, ids=lambda path: f"{path.parent.name}-{path.name}")


@pytest.fixture
def wanted(frozen: Path) -> Any:
    return json.loads(frozen.with_suffix(".json").read_text())


@pytest.fixture
def copy(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(frozen, tmp_path / "copy"))

"""The code of a module for one system, on any system: it is imported with another `sys.platform`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import maxsieve


def side(name: str, platform: str, **modules: Any) -> Any:
    """`maxsieve.common.NAME` as that platform sees it, with modules that only that platform has."""
    path = Path(maxsieve.__file__).parent / "common" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_on_{platform}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "platform", platform):
        spec.loader.exec_module(module)
    return module


def fake(name: str, **names: Any) -> ModuleType:
    """A module of these names."""
    module = ModuleType(name)
    vars(module).update(names)
    return module

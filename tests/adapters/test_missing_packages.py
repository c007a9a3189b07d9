"""An adapter whose package is not installed says which package to install."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pytest


class Missing(MetaPathFinder):
    """As if a package were not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == self.package:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@pytest.mark.parametrize(
    ("adapter", "package", "wanted"),
    [
        ("langchain", "langchain_core", "langchain-core>=1"),
        ("llama_index", "llama_index", "llama-index-core>=0.14"),
        ("haystack", "haystack", "haystack-ai>=3"),
        ("rerankers", "rerankers", "rerankers>=0.10"),
        ("pyterrier", "pyterrier", "pyterrier>=1.1"),
    ],
)
def test_which_package_is_missing(monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, wanted: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])
    monkeypatch.delitem(sys.modules, f"maxsieve.adapters.{adapter}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=f"this needs {package}: pip install '{wanted}'"):
        importlib.import_module(f"maxsieve.adapters.{adapter}")

"""An adapter whose package is not installed says which extra to install."""

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
    ("adapter", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
        ("rerankers", "rerankers", "rerankers"),
        ("pyterrier", "pyterrier", "pyterrier"),
    ],
)
def test_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, extra: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])
    monkeypatch.delitem(sys.modules, f"maxsieve.adapters.{adapter}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"this needs {package}: pip install 'maxsieve\[{extra}\]'"):
        importlib.import_module(f"maxsieve.adapters.{adapter}")

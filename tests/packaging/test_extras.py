"""Extras: what messages tell users to install exists, and `all` has all of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip has the same
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def named_in_source() -> Iterator[str]:
    """The extras of calls `optional(module, extra)` and of messages and docstrings."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "optional":
                yield from (word.value for word in node.args[1:] if isinstance(word, ast.Constant))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"maxsieve\[([\w-]+)]", node.value)


def test_all_is_every_extra() -> None:
    assert EXTRAS["all"] == [f"maxsieve[{','.join(sorted(EXTRAS.keys() - {'all'}))}]"]


def test_extras_that_the_package_names_exist() -> None:
    named = set(named_in_source())
    assert {"text", "arrow", "ray"} <= named
    assert named <= EXTRAS.keys()

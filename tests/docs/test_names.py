"""A name stands for one thing: no two classes share one, and no parameter is called ``one``."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "maxsieve"

OF_THE_SPECIFICATION = {"Codebook", "Round", "Walk"}
"""The specification and the engine have them: they are the same things."""


@cache
def trees() -> dict[str, ast.Module]:
    paths = {path.relative_to(SOURCES).as_posix(): path for path in sorted(SOURCES.rglob("*.py"))}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}


def nodes() -> Iterator[tuple[str, ast.AST]]:
    return ((path, node) for path, tree in trees().items() for node in ast.walk(tree))


def test_classes_with_two_meanings() -> None:
    """Classes of adapters have the names that their hosts use, one for each host."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, node in nodes():
        if isinstance(node, ast.ClassDef) and not path.startswith("adapters/"):
            places[node.name].append(path)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice.keys() == OF_THE_SPECIFICATION
    for found in twice.values():
        assert sum(path.startswith("spec/") for path in found) == 1
        assert len(found) == 2


def test_parameters_say_what_they_are() -> None:
    """Not of an expression, such as ``key=lambda one: ...``, where everything about it is on one line."""
    found = [
        f"{path}: {node.name}"
        for path, node in nodes()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if argument.arg == "one"
    ]
    assert found == []

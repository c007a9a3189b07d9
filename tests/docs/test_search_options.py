"""A search option is named where it is checked and where users give it. Between these, `SearchOptions` carries it."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "maxsieve"

OWN = {"first_stage", "hybrid", "exclude", "partial"}
"""No function outside of these files has such a parameter."""

TOGETHER = OWN | {"policy", "candidates", "where", "trace", "depth", "timeout"}
"""No function outside of these files has two of these: it would pass options on one by one."""

ALLOWED = {
    "options.py",  # checks them
    "searcher.py",  # turns them into positions, just before the engine
    "cli",  # the command line
    "service/schemas.py",  # the HTTP schema
    "spec",  # the specification knows no options
    "cluster",  # what members are asked
    "text/lexical",  # BM25 and the fusion are these options
    "where.py",  # reads filters; its depth is how deep they are nested
    "lab",  # experiments are about them
}


def test_options_are_passed_whole() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if any(place == allowed or place.startswith(f"{allowed}/") for allowed in ALLOWED):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                names = {argument.arg for argument in every}
                if names & OWN or len(names & TOGETHER) > 1:
                    found.append(f"{place}: {node.name} has {sorted(names & TOGETHER)}")
    assert not found

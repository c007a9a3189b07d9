"""The type stubs of `_core` are those of the installed module, and have the types of its arrays."""

from __future__ import annotations

import ast
from pathlib import Path

from maxsieve import _core

STUB = ast.parse((Path(_core.__file__).parent / "_core.pyi").read_text())
UNKNOWN = {"object", "list", "tuple", "dict", "NDArray"}


def test_they_name_what_the_module_has() -> None:
    named = {node.name for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert named == {name for name in dir(_core) if not name.startswith("_")}


def test_every_type_is_known() -> None:
    bare = []
    for function in (node for node in ast.walk(STUB) if isinstance(node, ast.FunctionDef)):
        arguments = function.args
        annotations = [argument.annotation for argument in arguments.args] + [function.returns]
        for node in filter(None, annotations):
            inside = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Subscript)}
            names = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in UNKNOWN]
            bare += [f"{function.name}: {ast.unparse(node)}" for part in names if id(part) not in inside]
    # `dict(...)` in an annotation is nanobind's description of an array's layout, not a type.
    assert [line for line in bare if "dict(" not in line] == []

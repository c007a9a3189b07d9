"""The reference has every public name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER, SOURCE = ROOT / "docs" / "reference", ROOT / "src"
PAGES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md")))
BLOCK = re.compile(r"^::: (?P<name>[\w.]+)\n(?P<options>(?: {4,}.*\n|\n)*)", re.MULTILINE)
MEMBERS = re.compile(r"members:\s*(?:\[(?P<row>[^\]]*)\]|(?P<column>(?:\n\s+- \w+)+))")
ELSEWHERE = {"maxsieve": {"errors"}, "maxsieve.text": {"Collection"}}
"""Names that the reference has under another name: a module with its own page, and `maxsieve.Collection`."""


def listed() -> set[str]:
    """The full names that the pages ask for; all names of a module that is asked for as a whole."""
    found = set()
    for block in BLOCK.finditer(PAGES + "\n"):
        name, members = block["name"], MEMBERS.search(block["options"])
        if members:
            found |= {f"{name}.{one}" for one in re.findall(r"\w+", members["row"] or members["column"])}
        elif "members: false" not in block["options"]:
            found |= {name, *(f"{name}.{one}" for one in public(name))}
    return found


def public(module: str) -> list[str]:
    """Its `__all__`, read without an import, because some packages may be missing. Nothing if it is not a package."""
    path = SOURCE.joinpath(*module.split("."), "__init__.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


MODULES = {"maxsieve", "maxsieve.text", "maxsieve.exchange", "maxsieve.doctor"}
if (FOLDER / "cluster.md").is_file():
    MODULES.add("maxsieve.cluster")


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_public_name_has_a_place(module: str) -> None:
    names = set(public(module)) - ELSEWHERE.get(module, set())
    assert names
    assert {f"{module}.{name}" for name in names} <= listed()


def test_every_page_is_in_the_table() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    for page in FOLDER.glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_every_module_of_the_specification_has_a_place() -> None:
    modules = {path.stem for path in (SOURCE / "maxsieve" / "spec").glob("*.py")} - {"__init__"}
    assert {f"maxsieve.spec.{module}" for module in modules} <= listed()

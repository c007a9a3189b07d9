"""`maxsieve.common` imports nothing of the package but itself and the errors.

The import contracts of pyproject.toml keep it below the other packages, but they do not see the compiled core.
"""

from __future__ import annotations

import ast
from pathlib import Path

from maxsieve import common

ALLOWED = ("maxsieve.common", "maxsieve.errors")


def test_common_imports_only_errors() -> None:
    found = []
    for path in Path(common.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [(path.name, name) for name in names if name.partition(".")[0] == "maxsieve"]
    assert [(file, name) for file, name in found if not name.startswith(ALLOWED)] == []
    assert found

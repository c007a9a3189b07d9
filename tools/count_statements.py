"""Counts the statements of the package, by ``ast``: formatting and the length of lines make no difference.

python tools/count_statements.py             the package in this tree
python tools/count_statements.py FOLDER      the sources in another folder, such as an older version
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "maxsieve"


def statements(source: str) -> int:
    r"""How many statements a module has, including docstrings and imports.

    >>> statements("if a:\n    b = 1; c = 2")
    3
    """
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))


def main() -> None:
    """Counts."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    parts: Counter[str] = Counter()
    files = sorted(folder.rglob("*.py"))
    for path in files:
        inner = path.relative_to(folder)
        parts[inner.parts[0] if len(inner.parts) > 1 else "."] += statements(path.read_text(encoding="utf-8"))
    for part, count in parts.most_common():
        print(f"{count:7,}  {part}")
    print(f"{parts.total():7,}  in {len(files)} files")


if __name__ == "__main__":
    main()

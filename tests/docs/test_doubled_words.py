"""No sentence says a word twice in a row: not in docstrings, messages and comments, and not in the documents."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOUBLED = re.compile(r"\b([A-Za-z]{2,})[ \n]\1\b")
ARGUMENT = re.compile(r"^( *)(\w+(?:, \w+)*)\n(?=\1 {4}\S)", re.MULTILINE)
"""A name on a line of its own, above what is said of it, which may begin with the same word."""
CODE = re.compile(r"^>>>.*?(\n\n|\Z)|^( {4}|\|)[^\n]*", re.MULTILINE | re.DOTALL)


def texts_of(path: Path) -> Iterator[str]:
    """The texts in a file that people read."""
    source = path.read_text()
    if path.suffix == ".md":
        yield re.sub(r"```.*?```", "", source, flags=re.DOTALL)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "\n".join(line.strip() for line in ARGUMENT.sub(r"\1\2:\n", node.value).split("\n"))
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def doubled_in(text: str) -> list[str]:
    return [found[0] for found in DOUBLED.finditer(CODE.sub("", text))]


FILES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_word_is_doubled(path: Path) -> None:
    assert [found for text in texts_of(path) for found in doubled_in(text)] == []


def test_a_doubled_word_would_be_found() -> None:
    assert doubled_in("a string starting at at character 7, and the\nthe end") == ["at at", "the\nthe"]


def test_an_argument_may_be_said_in_its_own_word(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text('"""Adds.\n\nids\n    ids of all documents, and the\n    the end.\n"""\n')
    assert [found for text in texts_of(path) for found in doubled_in(text)] == ["the\nthe"]

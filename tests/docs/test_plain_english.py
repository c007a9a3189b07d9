"""Documents, docstrings and messages are written in plain English, and Markdown has short lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = "<!-- What follows is written by `make results"
"""The rest of docs/results.md is not written by hand."""

COLUMNS = 100
FIGURES = 5
"""A table with at least this many columns has figures, and its rows can't be broken."""

DOCUMENTS = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
MODULES = sorted((ROOT / "src" / "maxsieve").rglob("*.py"))

RIDDLES = {
    "comes up for breath": "say what happens",
    "gone on with": "continued",
    "goes on from": "continues",
    "goes on where": "continues where",
    "have a say": "is combined with",
    "last words": "the end of its output",
    "steer a terminal": "control characters",
    "steers a terminal": "control characters",
    "takes the room": "disk usage",
    "unasked": "without being asked for",
    "dawdle": "are slow",
    "bring them along": "contain them",
    "let go of": "closed, or released",
    "be it null": "even if it is null",
    "far sooner": "much faster",
    "that are no documents": "bad documents",
    "is no json": "is not valid JSON",
    "what it took": "what it cost",
    "worth a look": "say what is done",
    "in the midst of": "during",
    "means itself": "is taken literally",
    "made anew": "made again",
    "does not have its checksum": "has a wrong checksum",
    "none of their business": "ignored",
    "on their way in": "that are being added",
    "fall ill": "fail",
    "however well": "even if",
    "whomever": "any process",
    "bring along": "contain",
}
"""Phrases that readers with English as a second language had to solve, and what to write instead."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def too_long(text: str) -> Iterator[tuple[int, str]]:
    """The lines that could be shorter, with their numbers."""
    generated, columns = False, 0
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        generated = (generated or stripped.startswith("<!-- figures")) and not stripped.startswith("<!-- /figures")
        columns = (columns or stripped.count("|") - 1) if stripped.startswith("|") else 0
        breakable = " " in re.sub(r"^([-*>]|\d+\.) ", "", stripped)
        if not generated and columns < FIGURES and breakable and len(line) > COLUMNS:
            yield number, line


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_markdown_has_lines_of_at_most_100_columns(path: Path) -> None:
    assert not list(too_long(path.read_text().partition(GENERATED)[0]))


def test_what_counts_as_too_long() -> None:
    long, row = "word " * 30, "| a | " + "word " * 30 + "|"
    assert [number for number, _ in too_long(f"short\n{long}\n{row}")] == [2, 3]
    assert not list(too_long(f"```\n{long[:100]}\n```\n\n    {long[:96]}"))
    assert [number for number, _ in too_long(f"```\n{long[:101]}\n```\n\n    {long[:97]}")] == [2, 5]
    assert not list(too_long("| a | b | c | d | e |\n|---|---|---|---|---|\n| " + "1 | " * 60))
    assert not list(too_long("- [a](" + "x" * 120 + ")"))


def prose(path: Path) -> Iterator[str]:
    """The texts in a file: a whole document, or the docstrings and messages of a module."""
    if path.suffix == ".md":
        yield path.read_text().partition(GENERATED)[0]
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("path", [*DOCUMENTS, *MODULES], ids=relative)
def test_no_riddles(path: Path) -> None:
    texts = [" ".join(text.lower().split()) for text in prose(path)]
    found = {riddle: plain for riddle, plain in RIDDLES.items() if any(riddle in text for text in texts)}
    assert not found

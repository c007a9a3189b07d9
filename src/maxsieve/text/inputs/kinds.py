"""Kinds of files: which suffixes are read as text, how their headings are found, and how large they may be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import PurePath

from maxsieve.text.inputs.document import LARGEST_FILE
from maxsieve.text.inputs.markup import asciidoc_headings, latex_headings, org_headings, rst_headings
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading, Outline

MARKDOWN_SUFFIXES = (".md", ".markdown")
MARKUP: dict[str, Callable[[str], Iterator[Heading]]] = {
    ".rst": rst_headings,
    ".org": org_headings,
    ".adoc": asciidoc_headings,
    ".tex": latex_headings,
}
PLAIN = (".txt", ".text")
DATA = (".log", ".csv", ".tsv", ".json", ".xml", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".sql")
SOURCE = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh"),
    *(".hpp", ".hxx", ".go", ".rs", ".cs", ".rb", ".php", ".sh", ".bash", ".kt", ".swift", ".scala", ".r", ".jl"),
    *(".lua", ".pl", ".pm", ".hs", ".ml", ".ex", ".exs", ".erl", ".clj", ".dart", ".m", ".css", ".scss", ".vue"),
    *(".svelte", ".mm", ".cu", ".zsh", ".fish", ".ps1", ".mli", ".el", ".lisp", ".zig", ".nim", ".proto", ".cmake"),
    ".tf",
)
TEXT_SUFFIXES = (*PLAIN, *MARKDOWN_SUFFIXES, *MARKUP, *DATA, *SOURCE)
"""Files that are read as text."""

LARGEST_DATA = 1 << 20
"""Limit on the bytes of a file of data or source code, unless it is asked for: larger ones are rarely read."""


def largest(suffix: str) -> int:
    """How many bytes a file of a kind may have to be taken by default."""
    return LARGEST_DATA if suffix in DATA or suffix in SOURCE else LARGEST_FILE


def outline_of(text: str, suffix: str) -> Outline:
    """What the format of a text file says about its headings. Plain text has none."""
    if suffix in MARKDOWN_SUFFIXES:
        return Outline(None, lines=True)
    finder = MARKUP.get(suffix)
    return Outline(() if finder is None else list(islice(finder(text), MOST_HEADINGS)), lines=True)


def kind_of(name: str | os.PathLike[str]) -> str:
    """The kind of a file: its suffix without the dot, or its name if it has none.

    >>> kind_of("notes/A.MD"), kind_of("Makefile")
    ('md', 'makefile')
    """
    path = PurePath(name)
    return path.suffix[1:].lower() or path.name.lower()

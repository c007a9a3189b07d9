"""The functions and classes of source code as headings, found by tree-sitter.

The parser is native code, and a source file may be hostile: `IsolatedReader.definitions` runs it in another process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

from maxsieve.common.optional import optional
from maxsieve.text.inputs.grammars import GRAMMARS, Grammar
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading

LONGEST_SOURCE = 1 << 20
"""Limit on the characters of a text that is parsed."""

LONGEST_NAME = 100
DEEPEST_NAME = 50
"""How many pointers, references and brackets may be around the name of a C function."""

_CLOSING = re.compile(rb"(?:(?<=[};])[ \t]*(?://|#)[^\n]*|[\s})\];,]|\bend\b)*")
"""What may follow the end of a definition and is no code of its own: blanks, brackets, and comments after those."""

_TYPE = re.compile(r"[^\W\d]\w*")


class _Definition(NamedTuple):
    """A definition: its bytes, with what is written around it and above it, and its name."""

    start: int
    end: int
    name: str


def definitions(text: str, suffix: str) -> list[Heading]:
    r"""The definitions in a source file. After the end of one, a heading without a title ends its section.

    >>> found = definitions("class A:\n    def f(self):\n        pass\n\nprint(A)\n", ".py")
    >>> [tuple(heading) for heading in found]
    [(0, 1, 'A'), (13, 2, 'f'), (40, 1, '')]
    """
    source = text.encode(errors="replace")  # a lone surrogate becomes one byte
    found = islice(_events(source, _find(source, suffix)), MOST_HEADINGS)
    headings, at, characters = list[Heading](), 0, 0
    for start, level, title in found:  # in order, so that each byte is decoded once
        characters, at = characters + len(source[at:start].decode()), start
        headings.append(Heading(characters, level, title))
    return headings


def missing_grammars(suffixes: Collection[str]) -> str:
    """A sentence about the source files that are split as plain text because a package is missing, or nothing."""
    known = [grammar for suffix in suffixes if (grammar := GRAMMARS.get(suffix)) is not None]
    lost = sum(not is_installed(grammar) for grammar in known)
    if not lost:
        return ""
    what = "1 source file is" if lost == 1 else f"{lost:,} source files are"
    return f"{what} split as plain text, without names of functions and classes: pip install 'maxsieve[code]'"


@cache
def is_installed(grammar: Grammar) -> bool:
    """Whether files of a language can be parsed."""
    return all(find_spec(package) is not None for package in ("tree_sitter", grammar.package))


@cache
def _language(grammar: Grammar) -> tuple[Any, Any]:
    """The parser of a language, and the query for its definitions."""
    library = optional("tree_sitter", "code")
    language = library.Language(getattr(optional(grammar.package, "code"), grammar.function)())
    return library.Parser(language), library.Query(language, grammar.query)


def _find(source: bytes, suffix: str) -> list[_Definition]:
    """All definitions, the outer ones first."""
    parser, query = _language(GRAMMARS[suffix])
    tree = parser.parse(source)
    named, wholes = dict[tuple[int, int], tuple[str, Any]](), dict[tuple[int, int], Any]()
    remarks: dict[int, Any] = {}
    for _, captured in optional("tree_sitter", "code").QueryCursor(query).matches(tree.root_node):
        for remark in captured.get("remark", ()):
            row, column = remark.end_point
            remarks[row - (column == 0)] = remark  # some include the end of their line
        for node in captured.get("definition", ()):
            place = (node.start_byte, node.end_byte)
            if "whole" in captured:
                wholes[place] = captured["whole"][0]
            if name := _name(captured):
                named[place] = name, node
    inside = Counter(whole.id for whole in wholes.values())
    found = []
    for place, (name, node) in named.items():
        whole = wholes.get(place, node)
        around = whole if inside[whole.id] == 1 else node
        found.append(_Definition(_start(around, remarks, source), around.end_byte, name))
    return sorted(found, key=lambda one: (one.start, -one.end))


def _name(captured: dict[str, list[Any]]) -> str:
    """The name of a definition on one line, or nothing."""
    if "name" not in captured:
        return ""
    node = captured["name"][0]
    for _ in range(DEEPEST_NAME):
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            break
        node = inner
    name = " ".join(_text(node).split())
    owner = _TYPE.search(_text(captured["owner"][0])) if "owner" in captured else None
    return (f"{owner[0]}.{name}" if owner else name)[:LONGEST_NAME]


def _text(node: Any) -> str:
    content: bytes = node.text
    return content[: 4 * LONGEST_NAME].decode(errors="ignore")


def _start(node: Any, remarks: dict[int, Any], source: bytes) -> int:
    """Where a definition begins, with the comments and attributes directly above it."""
    start: int = node.start_byte
    row, column = node.start_point
    while (above := remarks.pop(row - 1, None)) is not None:
        if above.start_point.column != column or source[above.start_byte - column : above.start_byte].strip():
            break
        start, row = above.start_byte, above.start_point.row
    return start


def _events(source: bytes, found: list[_Definition]) -> Iterator[Heading]:
    """Where definitions begin and end, in bytes. An end is left out if no code follows before the next event."""
    open_ones: list[_Definition] = []
    at = place = 0

    def close(upto: int) -> Iterator[Heading]:
        """The ends of open definitions up to a place."""
        nonlocal at, place
        while open_ones and open_ones[-1].end <= upto:
            end = open_ones.pop().end
            if end >= place and (closing := _CLOSING.match(source, end)):  # each byte is matched once
                place = closing.end()
            if place < min(upto, open_ones[-1].end if open_ones else upto):
                at = place
                yield Heading(place, len(open_ones) + 1, "")

    for one in found:
        yield from close(one.start)
        start = max(one.start, at)
        if open_ones and one.end > open_ones[-1].end:
            continue  # it overlaps with another one: the source has errors
        at = start
        open_ones.append(one)
        yield Heading(start, len(open_ones), one.name)
    yield from close(len(source))

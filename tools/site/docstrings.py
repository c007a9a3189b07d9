"""Docstrings as Markdown, for the reference: an extension of Griffe, which reads the source.

Docstrings here are written for ``help()``: an example begins with ``>>>``, an argument is on a line of its own, and its
description is indented below it. In Markdown the first is a quotation and the second code. Names between backticks
become links to their place in the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\s*\n|\Z)", re.DOTALL)
TERM = re.compile(r"(?:^|(?<=\n))(?P<term>\*{0,2}[\w, *]+)\n(?P<said>(?: {4}[^\n]*\n?)+)")
NAME = re.compile(r"(?<![`\[])`(?P<name>[A-Za-z]\w*(?:\.\w+)?)`(?![`\]])")
FENCE = "```"
LISTED = ("maxsieve", "maxsieve.text")
"""Modules of which docs/reference/ has every public name."""


class Docstrings(griffe.Extension):
    """Rewrites all docstrings of the package when it has been read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """The package was read."""
        places = dict(_places(pkg))
        for obj in _objects(pkg):
            if obj.docstring is not None:
                obj.docstring.value = markdown(obj.docstring.value, places)


def markdown(text: str, places: Mapping[str, str]) -> str:
    r"""A docstring as Markdown, with links to the places of names.

    >>> markdown("Adds.\n\nids\n    one for each\n\n>>> 1 + 1\n2", {}).splitlines()
    ['Adds.', '', '`ids`', ':   one for each', '', '```pycon', '>>> 1 + 1', '2', '```']
    >>> markdown("As `Index.add` and `other` do.", {"Index.add": "maxsieve.Index.add"})
    'As [`Index.add`][maxsieve.Index.add] and `other` do.'
    """
    text = EXAMPLE.sub(lambda found: f"\n{FENCE}pycon\n{found[0].rstrip()}\n{FENCE}", text)
    parts = re.split(rf"({FENCE}.*?{FENCE})", text, flags=re.DOTALL)
    parts[::2] = [TERM.sub(_definition, NAME.sub(lambda found: _linked(found, places), part)) for part in parts[::2]]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


def _linked(found: re.Match[str], places: Mapping[str, str]) -> str:
    name = found["name"]
    return f"[`{name}`][{places[name]}]" if name in places else found[0]


def _definition(found: re.Match[str]) -> str:
    said = found["said"].strip("\n").removeprefix("    ")
    return f"\n`{found['term'].strip()}`\n:   {said}\n"


def _places(package: griffe.Module) -> Iterator[tuple[str, str]]:
    """Public names and those of their members, and where the reference has them."""
    for module in LISTED:
        inside = package[module.partition(".")[2]] if "." in module else package
        for name in sorted(str(one) for one in inside.exports or ()):
            if isinstance(inside.members.get(name), griffe.Module):
                continue
            yield name, f"{module}.{name}"
            for member in inside[name].members:
                if not member.startswith("_"):
                    yield f"{name}.{member}", f"{module}.{name}.{member}"


def _objects(one: griffe.Object) -> Iterator[griffe.Object]:
    yield one
    for member in one.members.values():
        if not member.is_alias:
            yield from _objects(member)  # type: ignore[arg-type]

"""The definitions of a source file as headings, by the words that begin them in most languages."""

from __future__ import annotations

import re

from maxsieve.text.inputs.outline import Heading, Outline

DEEPEST = 6
INDENT = 4

_BEFORE = "abstract|async|default|export|final|private|protected|pub|public|static"
_KINDS = "class|def|enum|fn|func|function|impl|interface|module|struct|trait|type"
_DEFINITION = re.compile(
    rf"^([ \t]*)(?:(?:{_BEFORE})(?:\([\w: ]+\))?[ \t]+)*(?:{_KINDS})[ \t]+([\w$]+(?:(?:\.|::)[\w$]+)*)", re.MULTILINE
)


def definitions(text: str) -> Outline:
    r"""The outline of a source file. The indentation of a definition says how deep it is.

    >>> [heading[1:] for heading in definitions("class A:\n    def f(self):\n        pass\n").headings or ()]
    [(1, 'A'), (2, 'f')]
    """
    found = (
        Heading(match.start(), min(DEEPEST, 1 + len(match[1].expandtabs(INDENT)) // INDENT), match[2])
        for match in _DEFINITION.finditer(text)
    )
    return Outline(list(found), lines=True)

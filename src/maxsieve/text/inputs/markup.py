r"""Headings of texts in a markup language, found line by line: Markdown, reStructuredText, Org, AsciiDoc and LaTeX.

All of them are found lazily, because a text may consist of headings only, and in time that grows with its length only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from maxsieve.text.inputs.outline import Heading

LONGEST_TITLE = 200
"""Limit on the characters of a title."""

PARAGRAPH_LINES = 4
"""A heading of Markdown that is underlined has at most this many lines."""

FRONT_MATTER = 1 << 16
"""Limit on the characters of the fields before a Markdown text."""

_MARKDOWN = re.compile(
    r"^[ ]{0,3}(?:(?P<hashes>#{1,6})(?=[ \t\r\n]|\Z)(?P<title>[^\n]*)"
    r"|(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)"
    r"|(?P<underline>=+|-+)[ \t]*\r?$"
    r"|(?P<html><!--|<(?P<tag>pre|script|style|textarea)\b))",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_BEFORE = re.compile(r"\s*\Z|[ ]{0,3}(?:#{1,6}[ \t]|`{3}|~{3}|(?:=+|-+)\s*\Z|(?:\*[ \t]*){3,}\s*\Z)")
"""A line that a paragraph can begin after: a blank line, a heading, a fence or a rule."""

_OTHER = re.compile(r"[ ]{4}|\t|[ ]{0,3}(?:[-+*][ \t]|[>|<]|\d{1,9}[.)][ \t])")
"""The beginning of something else: code, a list, a quotation, a table or HTML."""

_FRONT = re.compile(rf"---[ \t]*\r?\n.{{,{FRONT_MATTER}}}?^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_RST = re.compile(r"^[ ]?(?P<title>\S[^\n]*)\n(?P<mark>(?P<sign>[!-/:-@\[-`{-~])(?P=sign)+)[ \t]*\r?$", re.MULTILINE)
_RST_MARK = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*\r?")
_ORG = re.compile(r"^(\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(\S[^\n]*)$", re.MULTILINE)
_ORG_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")
_ADOC = re.compile(
    r"^(?:(?P<marks>={1,6}|#{1,6})[ \t]+(?P<title>\S[^\n]*)|(?P<fence>-{4,}|\.{4,}|/{4,}|\+{4,}|`{3,})[ \t]*\r?)$",
    re.MULTILINE,
)
_TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_TEX = re.compile(
    r"%[^\n]*|\\[%\\]|\\begin\{(?P<raw>verbatim|lstlisting|minted|comment)\}"
    r"|\\(?P<kind>part|chapter|(?:sub){0,2}section|paragraph)\*?[ \t]*(?:\[[^\]\n]{0,200}\])?"
    r"\{(?P<title>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\}){1,400})\}"
)
_TEX_COMMAND = re.compile(r"\\[a-zA-Z]+\*?[ \t]*|[{}]")


def markdown_headings(text: str) -> Iterator[Heading]:
    r"""Headings of Markdown: after ``#`` signs, or underlined. Not in code, comments or the fields before a text.

    >>> list(markdown_headings("# Tea\n```\n# no\n```\nGreen\n-----\nNot hot."))
    [Heading(start=0, level=1, title='Tea'), Heading(start=19, level=2, title='Green')]
    """
    front = _FRONT.match(text)
    end = first = front.end() if front else 0
    fence = ""
    for found in _MARKDOWN.finditer(text, first):
        if found.start() < end:
            continue
        if found["fence"]:
            if not fence:
                fence = found["fence"]
            elif found["fence"].startswith(fence) and not found["info"].strip():
                fence = ""
        elif fence:
            continue
        elif found["html"]:
            end = text.find(f"</{found['tag']}" if found["tag"] else "-->", found.end())
            if end < 0:
                return
        elif found["hashes"]:
            if title := _CLOSING_HASHES.sub("", found["title"].strip()):
                yield Heading(found.start("hashes"), len(found["hashes"]), title[:LONGEST_TITLE])
        elif (start := _paragraph(text, max(end, first), found.start())) is not None:
            level = 1 if found["underline"].startswith("=") else 2
            yield Heading(start, level, _line(text[start : found.start()]))


def _paragraph(text: str, first: int, end: int) -> int | None:
    """Where the paragraph begins that ends just before ``end``; None if there is no paragraph, or a long one."""
    start = end
    for _ in range(PARAGRAPH_LINES + 1):
        above = max(first, text.rfind("\n", 0, max(0, start - 1)) + 1)
        line = text[above:start]
        if above == start or _BEFORE.match(line):
            return None if start == end or _OTHER.match(text, start) else start + _indent(text, start)
        if start < end and _OTHER.match(text, start):
            return None
        start = above
    return None


def _indent(text: str, start: int) -> int:
    return len(text[start : start + 4]) - len(text[start : start + 4].lstrip())


def rst_headings(text: str) -> Iterator[Heading]:
    r"""Titles of reStructuredText: underlined, or with a line above, too. The order of appearance makes the levels.

    >>> [heading[1:] for heading in rst_headings("===\nTea\n===\n\nGreen\n-----\nNot hot.\n")]
    [(1, 'Tea'), (2, 'Green')]
    """
    levels: dict[tuple[str, bool], int] = {}
    for found in _RST.finditer(text):
        title = found["title"].rstrip()
        if _RST_MARK.fullmatch(title) or len(found["mark"]) < min(len(title), 4):
            continue
        above = text.rfind("\n", 0, max(0, found.start() - 1)) + 1
        before = text[above : found.start()].strip()
        over = bool(before) and before == found["mark"]
        if before and not over:
            continue  # the last line of a paragraph
        level = levels.setdefault((found["sign"], over), len(levels) + 1)
        yield Heading(above if over else found.start("title"), level, title[:LONGEST_TITLE])


def org_headings(text: str) -> Iterator[Heading]:
    """Headlines of Org, without tags and states.

    >>> list(org_headings("** TODO Tea :drink:"))
    [Heading(start=0, level=2, title='Tea')]
    """
    for found in _ORG.finditer(text):
        if title := _ORG_TAGS.sub("", found[2]).strip():
            yield Heading(found.start(), len(found[1]), title[:LONGEST_TITLE])


def asciidoc_headings(text: str) -> Iterator[Heading]:
    r"""Titles of AsciiDoc outside of listings.

    >>> [heading.title for heading in asciidoc_headings("= Tea\n----\n== no\n----\n== Green")]
    ['Tea', 'Green']
    """
    fence = ""
    for found in _ADOC.finditer(text):
        if found["fence"]:
            fence = "" if found["fence"] == fence else fence or found["fence"]
        elif not fence:
            yield Heading(found.start(), len(found["marks"]), found["title"].strip()[:LONGEST_TITLE])


def latex_headings(text: str) -> Iterator[Heading]:
    r"""Sections of LaTeX, not in comments or listings.

    >>> [heading.title for heading in latex_headings(r"\section{Tea \emph{leaves}} % \section{no}")]
    ['Tea leaves']
    """
    end = 0
    for found in _TEX.finditer(text):
        if found.start() < end:
            continue
        if found["raw"]:
            end = text.find(f"\\end{{{found['raw']}}}", found.end())
            if end < 0:
                return
        elif found["kind"] and (title := _line(_TEX_COMMAND.sub("", found["title"]))):
            yield Heading(found.start(), _TEX_LEVELS.index(found["kind"]) + 1, title)


def _line(text: str) -> str:
    """A title on one line."""
    return " ".join(text.split())[:LONGEST_TITLE]

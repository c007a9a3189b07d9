"""Makes text safe to show: on a terminal, where all output goes through here, and in small tables for notebooks.

Printed text may come from an untrusted source: texts, ids, names of files, a collection's description, errors that
contain any of these. A terminal executes control characters (ESC, and the C1 controls from U+0080 on), and
bidirectional controls change the order in which text is shown.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_NOT_ASCII = re.compile("[^ -~]")


def printable(text: str) -> str:
    r"""The text with control characters replaced by spaces; it has the same number of characters.

    >>> printable("a\x1b[31mb\nc")
    'a [31mb c'
    """
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def printable_lines(text: str) -> str:
    r"""The same for text of several lines; line breaks stay.

    >>> printable_lines("a\x9b31m\nb")
    'a 31m\nb'
    """
    return "\n".join(map(printable, text.split("\n")))


def printable_json(value: Any, *, ascii_only: bool = False) -> str:
    r"""One line of JSON in which control characters are escaped; its meaning stays the same.

    >>> printable_json({"a": "\u202eé\x9b"})
    '{"a": "\\u202eé\\u009b"}'
    """
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if ascii_only:
        return text.replace("\x7f", "\\u007f")
    return text if text.isprintable() else _NOT_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    return letter if letter.isprintable() else "\\u007f" if letter == "\x7f" else json.dumps(letter)[1:-1]


def for_shell(text: str) -> str:
    """A string quoted for a command line, so that the shell takes it literally.

    >>> print(for_shell("it's $(rm -r ~)"), for_shell("docs.ms"))
    'it'"'"'s $(rm -r ~)' docs.ms
    """
    return shlex.quote(printable(text))


MOST_ROWS = 100
"""A longer table ends with the number of rows that are left out."""


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """An HTML table. Every value is escaped: ids and texts may come from anywhere.

    >>> table(["id"], [["<b>"]])
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    listed = list(rows)
    lines = [_row("td", [_shown(value) for value in row]) for row in listed[:MOST_ROWS]]
    if len(listed) > MOST_ROWS:
        lines.append(_row("td", [f"and {len(listed) - MOST_ROWS:,} more"]))
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead>{_row('th', heads)}</thead><tbody>{''.join(lines)}</tbody></table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)

"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

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

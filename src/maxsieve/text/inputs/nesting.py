"""How deep the elements of an HTML page are nested. It is checked before the page is parsed.

The parser, as the standard of HTML says, looks at all open elements for each new one. So its time grows with the square
of the depth: 80,000 nested elements take ten seconds.
"""

from __future__ import annotations

import re
from collections import Counter

DEEPEST = 2_000
"""Limit on the open elements. Browsers stop at about 500."""

NOT_COUNTED = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
    *("p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "caption", "option", "optgroup"),
    *("html", "head", "body", "rt", "rp", "h1", "h2", "h3", "h4", "h5", "h6", "form", "button"),
    *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"),
}
"""Elements without an end, those that the next one closes, and those of fonts, whose ends are often forgotten."""

_TAG = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(script|style)\b.*?(?:</\1|\Z)"
    r"""|<(/?)([a-z][^\s/>]*)(?:[^"'>]+|"[^"]*"|'[^']*')*""",
    re.IGNORECASE | re.DOTALL,
)
"""A comment, a script or a style, which contain no elements, or a tag with its attributes."""


def check_nesting(page: str) -> None:
    """Raises `ValueError` if more elements are open at the same time than a page may have.

    >>> check_nesting("<div>" * 2000 + "</div>" * 2000 + "<p>" * 9000)
    >>> check_nesting("<div>" * 2001)
    Traceback (most recent call last):
    ValueError: its elements are nested more than 2,000 deep
    """
    open_elements: list[str] = []
    counts: Counter[str] = Counter()
    for tag in _TAG.finditer(page):
        name = (tag[3] or "").lower()
        if not name or name in NOT_COUNTED:
            continue
        if not tag[2]:
            open_elements.append(name)
            counts[name] += 1
            if len(open_elements) > DEEPEST:
                raise ValueError(f"its elements are nested more than {DEEPEST:,} deep")
        elif counts[name]:
            while (closed := open_elements.pop()) != name:  # an end closes what was opened inside
                counts[closed] -= 1
            counts[name] -= 1

"""Text that is safe to show on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text without what could steer a terminal; the same number of characters.

    >>> printable("a\x1b[31mb\nc")
    'a [31mb c'
    """
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)

"""Lines of bytes, decoded one by one, so that a bad line can be reported and skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from maxsieve.text.inputs.document import BadInput, Found, InputDocument, Place

BOM = b"\xef\xbb\xbf"
WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
LONGEST_LINE = 1 << 26
"""Limit on the bytes of a line: a longer one is not text, but a device or an attack."""


def bounded_lines(file: BinaryIO, source: str, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """The lines of a file. A line that is too long is an error; it is not read to its end."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise BadInput(Place(source, "line", number), f"it is longer than {longest} bytes")
        yield line


def numbered(lines: Iterable[bytes], source: str) -> Iterator[tuple[Place, bytes]]:
    r"""The lines that are not blank, without line ends and BOM, with their places.

    >>> [(place.number, line) for place, line in numbered([b"one\r\n", b" \n", b"two"], "it")]
    [(1, b'one'), (3, b'two')]
    """
    for number, line in enumerate(unmarked(lines, source), start=1):
        stripped = line.rstrip(b"\r\n")
        if stripped.strip():
            yield Place(source, "line", number), stripped


def unmarked(lines: Iterable[bytes], source: str) -> Iterator[bytes]:
    """The lines without a byte order mark; UTF-16 is refused."""
    iterator = iter(lines)
    first = next(iterator, b"")
    if first.startswith(WIDE_BOMS):
        raise ValueError(f"{source} is UTF-16; convert it first: iconv -f utf-16 -t utf-8")
    return chain([first.removeprefix(BOM)], iterator) if first else iterator


def decoded(line: bytes, place: Place) -> str:
    """The line as text; `BadInput` if it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as problem:
        raise BadInput(place, not_utf8(problem)) from None


def not_utf8(problem: UnicodeDecodeError) -> str:
    """The error message for bytes that are not UTF-8."""
    return f"not UTF-8 (byte {problem.object[problem.start]:#04x} at {problem.start})"


def read_lines(lines: Iterable[bytes], source: str) -> Found:
    r"""Each line that is not blank is a document, without an id.

    >>> [document.text for document in read_lines([b"one\n", b"\n", b"two\n"], "it")]
    ['one', 'two']
    """
    for place, line in numbered(lines, source):
        yield _document(line, place)


def _document(line: bytes, place: Place) -> InputDocument | BadInput:
    try:
        return InputDocument(None, decoded(line, place).strip(), None, place)
    except BadInput as bad:
        return bad

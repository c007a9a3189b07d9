"""Reads one JSON array of objects item by item, so that a large file needs little memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from maxsieve.text.inputs.document import TOO_MANY_VALUES, BadInput, Fields, Found, Place
from maxsieve.text.inputs.jsonl import has_too_many_values, kind_of
from maxsieve.text.inputs.lines import LONGEST_LINE, not_utf8

READ = 1 << 16
"""The least number of bytes that are read at a time."""

_MARK = re.compile(r"[^ \t\r\n]")


def read_json_array(file: BinaryIO, source: str, fields: Fields) -> Found:
    """Each item is a document. Reading stops at invalid JSON, because the start of the next item is unknown.

    >>> import io
    >>> file = io.BytesIO(b'[{"id": "a", "text": "Alpha"}, {"id": "b", "text": "Beta"}]')
    >>> [document.id for document in read_json_array(file, "it", Fields())]
    ['a', 'b']
    """
    number = 0
    try:
        for item, problem in _items(_JsonText(file)):
            number += 1
            place = Place(source, "item", number)
            if problem:
                yield BadInput(place, problem)
            elif isinstance(item, dict):
                yield fields.document(item, place)
            else:
                yield BadInput(place, f"a JSON object is expected, not {kind_of(item)}")
    except UnicodeDecodeError as problem:
        yield BadInput(Place(source, "item", number + 1), f"{not_utf8(problem)}, and the rest is not read")
    except (ValueError, RecursionError) as problem:
        yield BadInput(Place(source, "item", number + 1), f"not JSON: {problem}, and the rest is not read")


def _items(text: _JsonText) -> Iterator[tuple[Any, str]]:
    """The items, each with an error message if Python can parse it but it is not valid JSON."""
    text.expect("[")
    if text.comes("]"):
        text.expect_end()
        return
    while True:
        yield text.value()
        if text.comes("]"):
            text.expect_end()
            return
        text.expect(",")


class _JsonText:
    """The text of a file. Only as much of it as one item needs is in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False
        self._constants: list[str] = []
        self._json = json.JSONDecoder(parse_constant=self._constants.append)

    def comes(self, mark: str) -> bool:
        """Whether ``mark`` comes next, after white space; if so, moves past it."""
        found = self._next() == mark
        self._at += found
        return found

    def expect(self, mark: str) -> None:
        if not self.comes(mark):
            found = self._next()
            raise ValueError(f"{mark!r} is expected, not {found!r}" if found else f"{mark!r} is missing at the end")

    def expect_end(self) -> None:
        if found := self._next():
            raise ValueError(f"the array has ended, but {found!r} follows")

    def value(self) -> tuple[Any, str]:
        """The next value, and an error message or an empty string."""
        self._next()
        self._constants.clear()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    start, self._at = self._at, end
                    if has_too_many_values(self._text[start:end]):
                        return None, TOO_MANY_VALUES
                    odd = self._constants
                    return value, f"not JSON: {odd[0]} is not a JSON number" if odd else ""
            except json.JSONDecodeError as problem:
                if self._ended:
                    raise ValueError(f"{problem.msg} at character {problem.pos - self._at + 1} of it") from None
            if len(self._text) - self._at > LONGEST_LINE:
                raise ValueError(f"it is longer than {LONGEST_LINE} characters, or broken")
            if has_too_many_values(self._text[self._at :]):
                raise ValueError(TOO_MANY_VALUES)
            self._read_on()

    def _next(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            found = _MARK.search(self._text, self._at)
            self._at = found.start() if found else len(self._text)
            if found or self._ended:
                return found[0] if found else ""
            self._read_on()

    def _read_on(self) -> None:
        """Reads more, twice as much each time, so that parsing a long item takes linear time."""
        rest = self._text[self._at :]
        piece = self._file.read(max(READ, len(rest)))
        self._ended = not piece
        self._text, self._at = rest + self._decoder.decode(piece, final=self._ended), 0

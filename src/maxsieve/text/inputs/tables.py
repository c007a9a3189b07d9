"""CSV and TSV with a header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from maxsieve.errors import Argument, hinted
from maxsieve.text.inputs.document import MOST_VALUES, TOO_MANY_VALUES, BadInput, Fields, Found, Place, list_names, show
from maxsieve.text.inputs.lines import LONGEST_LINE, unmarked

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_ROW = LONGEST_LINE
"""Limit on the bytes of a row, which may span lines: more than this is a quote that was never closed, or an attack."""

DELIMITERS = ",;\t|"
"""The possible delimiters of a CSV file, the most common first."""


def read_csv(lines: Iterable[bytes], source: str, fields: Fields, delimiter: str | None = None) -> Found:
    r"""Each row after the header is a document; quoted fields may span lines. The header decides the default delimiter.

    >>> [document.text for document in read_csv([b"id;text\n", b'a;"Alpha,\n', b'beta"\n'], "it", Fields())]
    ['Alpha,\nbeta']
    """
    text = _Lines(lines, source, delimiter or DELIMITERS)
    if delimiter is None:
        start = list(_head(text))
        delimiter = find_delimiter(start[-1] if start else "", fields)
        return _rows(csv.reader(chain(start, text), delimiter=delimiter, strict=True), text, source, fields)
    return _rows(csv.reader(text, delimiter=delimiter, strict=True), text, source, fields)


def find_delimiter(header: str, fields: Fields) -> str:
    r"""The delimiter with which the header contains the required columns; a comma if there is none.

    >>> find_delimiter("id;text, all of it;text\n", Fields()), find_delimiter("id\ttext\n", Fields())
    (';', '\t')
    """
    needed = {fields.text, *([fields.id] if fields.id else [])}
    for delimiter in DELIMITERS:
        with suppress(csv.Error):
            names = next(csv.reader([header], delimiter=delimiter, strict=True), [])
            if needed <= {name.strip() for name in names}:
                return delimiter
    return DELIMITERS[0]


def _head(text: Iterator[str]) -> Iterator[str]:
    """Lines up to the first that is not blank."""
    for line in text:
        yield line
        if line.strip():
            return


def read_tsv(lines: Iterable[bytes], source: str, fields: Fields) -> Found:
    r"""Each line after the header is a document. Quotes have no meaning: a quote in a text must not join lines.

    >>> [document.text for document in read_tsv([b"id\ttext\n", b'a\t"Alpha\n'], "it", Fields())]
    ['"Alpha']
    """
    text = _Lines(lines, source, "\t")
    return _rows(csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True), text, source, fields)


def _rows(reader: Reader, text: _Lines, source: str, fields: Fields) -> Found:
    csv.field_size_limit(LONGEST_ROW)
    header: list[str] | None = None
    while True:
        place = Place(source, "line", reader.line_num + 1)
        text.start_row(place)
        try:
            row = next(reader, None)
        except csv.Error as problem:
            yield BadInput(place, f"not a row of the table: {problem}")
            continue
        if row is None:
            return
        if not any(value.strip() for value in row):
            continue
        if header is None:
            header = _header(row, source, fields)
        elif undecoded := next((value for value in row if not _is_text(value)), None):
            yield BadInput(place, f"not UTF-8 in {undecoded[:40]!a}")
        elif len(row) != len(header):
            yield BadInput(place, f"{len(row)} fields, but the header has {len(header)}")
        else:
            yield fields.document(dict(zip(header, row, strict=True)), place)


class _Lines:
    """The decoded lines, for `csv.reader`; `BadInput` if those of one row are too much together.

    They are decoded with surrogate escapes, so that bytes that are not UTF-8 can be reported with their row.
    """

    def __init__(self, lines: Iterable[bytes], source: str, delimiters: str) -> None:
        self._lines, self._delimiters = unmarked(lines, source), [mark.encode() for mark in delimiters]
        self.start_row(Place(source, "line", 1))

    def start_row(self, place: Place) -> None:
        """From here on, the lines are those of the row at this place."""
        self._place, self._bytes, self._values = place, 0, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._bytes += len(line)
        if self._bytes > LONGEST_ROW:
            problem = f"the row is longer than {LONGEST_ROW} bytes; is there a quote that is not closed?"
            raise BadInput(self._place, problem)
        self._values += max(map(line.count, self._delimiters))
        if self._values > MOST_VALUES:
            raise BadInput(self._place, TOO_MANY_VALUES)
        return line.decode(errors="surrogateescape")


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in value)


def _header(row: list[str], source: str, fields: Fields) -> list[str]:
    names = [name.strip() for name in row]
    if len(set(names)) < len(names):
        repeated, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"{source}: the header has the column {show(repeated)} twice")
    for name, wanted in (("text", fields.text), ("id", fields.id)):
        if wanted is not None and wanted not in names:
            listed = list_names(names)
            wrong = ValueError(f"{source}: the header has no column {wanted!r}, only {listed}")
            raise hinted(wrong, "; give one by {}", Argument(name))
    return names

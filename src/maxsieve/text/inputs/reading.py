"""Documents from files, folders and standard input, in one stream: bad ones refused or counted, ids checked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from maxsieve.text.inputs.document import BadInput, Fields, Found, InputDocument, Place
from maxsieve.text.inputs.folder import SUFFIXES as TEXT_SUFFIXES
from maxsieve.text.inputs.folder import read_file, read_folder, text_files
from maxsieve.text.inputs.jsonl import read_jsonl
from maxsieve.text.inputs.lines import BOM, bounded_lines, read_lines
from maxsieve.text.inputs.parquet import count_rows, read_parquet
from maxsieve.text.inputs.tables import read_csv, read_tsv

STDIN = "-"
LARGEST_COUNTED = 1 << 30
"""Bytes; the lines of a larger file are not counted beforehand."""


class Format(str, Enum):
    """How an input is written."""

    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    LINES = "lines"
    FILES = "files"


BY_SUFFIX = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
    **dict.fromkeys(TEXT_SUFFIXES, Format.FILES),
}


@dataclass(frozen=True)
class Input:
    """An input: a path, or ``-`` for standard input. Without a format, the suffix or the first line tells it."""

    name: str
    format: Format | None = None

    def __post_init__(self) -> None:
        if self.name == STDIN:
            if self.format in (Format.PARQUET, Format.FILES):
                raise ValueError(f"standard input can't be read as {self.format.value}; give a path")
            return
        path = Path(self.name)
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {self.name}")
        if path.is_dir():
            if self.format not in (None, Format.FILES):
                raise ValueError(f"{self.name} is a folder, which can't be read as {self.format.value}")
        elif self.format is None and path.suffix.lower() not in BY_SUFFIX:
            known = ", ".join(BY_SUFFIX)
            raise ValueError(f"{self.name}: the suffix tells no format (known are {known}); name one by --format")

    def documents(self, fields: Fields) -> Found:
        """The documents and what is none, in order."""
        if self.name == STDIN:
            lines = bounded_lines(sys.stdin.buffer, "standard input")
            format_, lines = (self.format, lines) if self.format else guess(lines)
            return _read(lines, "standard input", format_, fields)
        path = Path(self.name)
        if path.is_dir():
            return read_folder(path)
        chosen = self.format or BY_SUFFIX[path.suffix.lower()]
        if chosen is Format.PARQUET:
            return read_parquet(path, fields)
        if chosen is Format.FILES:
            return iter([read_file(path, path.as_posix())])
        return self._lines(path, chosen, fields)

    def count(self) -> int | None:
        """About how many documents there are (lines of a file, files of a folder), or None if only reading tells."""
        path = Path(self.name)
        if path.is_dir():
            return len(text_files(path))
        if self.name == STDIN or not path.is_file() or path.stat().st_size > LARGEST_COUNTED:
            return None  # to count what a pipe gives would be to eat it
        chosen = self.format or BY_SUFFIX[path.suffix.lower()]
        if chosen is Format.PARQUET:
            return count_rows(path)
        if chosen is Format.FILES:
            return 1
        if chosen is Format.CSV:
            return None  # a field may span lines
        with open(path, "rb") as file:
            return _count_lines(file) - (chosen is Format.TSV)

    def _lines(self, path: Path, chosen: Format, fields: Fields) -> Found:
        with open(path, "rb") as file:
            yield from _read(bounded_lines(file, self.name), self.name, chosen, fields)


class DocumentReader:
    """The documents of some inputs, one by one. The first bad one is raised, or with ``skip_bad`` counted and kept.

    >>> reader = DocumentReader([], Fields(), skip_bad=True)
    >>> list(reader), reader.bad
    ([], 0)
    """

    def __init__(self, inputs: Sequence[Input], fields: Fields, *, skip_bad: bool) -> None:
        self.inputs, self.fields, self.skip_bad = inputs, fields, skip_bad
        self.bad = self.repeated = 0
        self.first_bad: BadInput | None = None
        self.has_ids: bool | None = None
        self._seen: dict[str, tuple[int, Place]] = {}

    def count(self) -> int | None:
        """About how many documents there are, if that can be told without reading them."""
        counts = [one.count() for one in self.inputs]
        return None if None in counts else sum(count for count in counts if count is not None)

    def __iter__(self) -> Iterator[InputDocument]:
        for one in self.inputs:
            for found in one.documents(self.fields):
                checked = found if isinstance(found, BadInput) else self._check(found)
                if isinstance(checked, InputDocument):
                    yield checked
                elif checked is None:
                    self.repeated += 1
                elif self.skip_bad:
                    self.bad += 1
                    self.first_bad = self.first_bad or checked
                else:
                    raise checked

    def _check(self, document: InputDocument) -> InputDocument | BadInput | None:
        """All or none have an id of their own; a document that comes again, unchanged, is None."""
        if self.has_ids is None:
            self.has_ids = document.id is not None
        if self.has_ids != (document.id is not None):
            missing = (
                "has no id, but those before it have" if self.has_ids else "has an id, but those before it have none"
            )
            return BadInput(document.place, missing)
        if document.id is not None:
            digest = hash((document.text, repr(document.metadata)))
            first, place = self._seen.setdefault(document.id, (digest, document.place))
            if first != digest:
                return BadInput(
                    document.place, f"the id {document.id!r} was given to another document before ({place})"
                )
            if place != document.place:
                return None
        return document


def guess(lines: Iterable[bytes]) -> tuple[Format, Iterator[bytes]]:
    r"""JSON Lines if the first line that is not blank opens an object, else plain lines; and all lines again.

    >>> guess([b"\n", b'{"text": "it"}'])[0].value, guess([b"it"])[0].value
    ('jsonl', 'lines')
    """
    iterator, seen = iter(lines), list[bytes]()
    for line in iterator:
        seen.append(line)
        if start := line.removeprefix(BOM).strip()[:1]:
            return Format.JSONL if start == b"{" else Format.LINES, chain(seen, iterator)
    return Format.LINES, iter(seen)


@contextmanager
def opened(name: str) -> Iterator[Iterator[bytes]]:
    """The lines of a file, or those of standard input for ``-``."""
    if name == STDIN:
        yield bounded_lines(sys.stdin.buffer, "standard input")
        return
    with open(name, "rb") as file:
        yield bounded_lines(file, name)


def _read(lines: Iterable[bytes], source: str, format_: Format, fields: Fields) -> Found:
    if format_ is Format.JSONL:
        return read_jsonl(lines, source, fields)
    if format_ is Format.CSV:
        return read_csv(lines, source, fields)
    if format_ is Format.TSV:
        return read_tsv(lines, source, fields)
    return read_lines(lines, source)


def _count_lines(file: BinaryIO) -> int:
    lines, last = 0, b"\n"
    while block := file.read(1 << 20):
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")

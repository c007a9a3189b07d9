"""Where documents come from: a file by its suffix, a folder, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from maxsieve.text.inputs.folder import SUFFIXES as TEXT_SUFFIXES
from maxsieve.text.inputs.folder import read_file, read_folder, text_files
from maxsieve.text.inputs.jsonl import read_jsonl
from maxsieve.text.inputs.lines import BOM, read_lines
from maxsieve.text.inputs.parquet import count_rows, read_parquet
from maxsieve.text.inputs.record import Fields, Found
from maxsieve.text.inputs.tables import read_csv, read_tsv

STDIN = "-"


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
class Source:
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

    def records(self, fields: Fields) -> Found:
        """The documents and what is none, in order."""
        if self.name == STDIN:
            format_, lines = (self.format, sys.stdin.buffer) if self.format else guess(sys.stdin.buffer)
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
        if self.name == STDIN:
            return None
        if path.is_dir():
            return len(text_files(path))
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
            yield from _read(file, self.name, chosen, fields)


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
def opened(name: str) -> Iterator[BinaryIO]:
    """A file's bytes, or those of standard input for ``-``."""
    if name == STDIN:
        yield sys.stdin.buffer
        return
    with open(name, "rb") as file:
        yield file


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

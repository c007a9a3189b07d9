"""Documents from files, folders and standard input, as one stream. Refuses or counts bad documents; checks ids."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from gzip import GzipFile
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from maxsieve.errors import Argument, hinted
from maxsieve.text.inputs.compressed import suffix_of, unpacking
from maxsieve.text.inputs.document import NO_PAGE, BadInput, Fields, Found, InputDocument, Place
from maxsieve.text.inputs.files import SUFFIXES as FILE_SUFFIXES
from maxsieve.text.inputs.files import read_documents_of
from maxsieve.text.inputs.folder import document_files, read_folder
from maxsieve.text.inputs.isolated import READERS, IsolatedReader
from maxsieve.text.inputs.json_array import read_json_array
from maxsieve.text.inputs.jsonl import read_jsonl
from maxsieve.text.inputs.lines import BOM, bounded_lines, read_lines
from maxsieve.text.inputs.parquet import count_rows, read_parquet
from maxsieve.text.inputs.tables import read_csv, read_tsv
from maxsieve.text.pages.rendering import PICTURES

STDIN = "-"
LARGEST_COUNTED = 1 << 30
"""The lines of a file with more bytes than this are not counted in advance."""

PEEKED = 1 << 12
"""How many bytes are inspected to find the first character of a JSON file after white space."""


class Format(str, Enum):
    """The format of an input."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    LINES = "lines"
    FILES = "files"


BY_SUFFIX = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
    **dict.fromkeys(FILE_SUFFIXES, Format.FILES),
}


@dataclass(frozen=True)
class Input:
    """An input: a path, or ``-`` for standard input. Without a format, the suffix or the first line decides it.

    ``delimiter`` separates the columns of a CSV file; without one, the header decides it. With ``pages``, each page of
    a PDF and each picture is a document. With ``ocr``, pages without text are read by OCR.
    """

    name: str
    format: Format | None = None
    delimiter: str | None = None
    pages: bool = False
    ocr: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and self._format() is not Format.CSV:
            raise ValueError(f"{self.name} is not read as CSV: only CSV has a delimiter")
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
            return
        suffix, compressed = suffix_of(path)
        if self._format() is None:
            known = ", ".join(BY_SUFFIX)
            wrong = ValueError(f"{self.name}: the suffix does not tell the format (known: {known})")
            raise hinted(wrong, "; give one by {}", Argument("format"))
        if compressed and (self._format() is Format.PARQUET or suffix in READERS):
            raise ValueError(f"{self.name} must not be compressed by gzip: decompress it first, by gunzip")

    def documents(self, fields: Fields) -> Found:
        """The documents, and errors for what can't be read, in order."""
        if self.name == STDIN:
            return self._read(sys.stdin.buffer, "standard input", self.format, fields)
        path = Path(self.name)
        if path.is_dir():
            return read_folder(path, pages=self.pages, ocr=self.ocr)
        chosen = self._format()
        if chosen is Format.PARQUET:
            return read_parquet(path, fields)
        return self._file(path) if chosen is Format.FILES else self._lines(path, fields)

    def count(self) -> int | None:
        """The approximate number of documents (lines of a file, files of a folder); None if it is not known."""
        path, chosen = Path(self.name), self._format()
        if path.is_dir():
            return None if self.pages else len(document_files(path, refused=lambda _: None))
        if self.name == STDIN or not path.is_file() or path.stat().st_size > LARGEST_COUNTED:
            return None  # counting would consume a pipe
        if chosen is Format.PARQUET:
            return count_rows(path)
        if chosen is Format.FILES:
            return None if self.pages else 1
        if chosen in (Format.CSV, Format.JSON) or suffix_of(path)[1]:
            return None  # lines are not documents there, or a count would decompress the file
        with open(path, "rb") as file:
            return _count_lines(file) - (chosen is Format.TSV)

    def _format(self) -> Format | None:
        """The given format, or the format of the suffix."""
        if self.format or self.name == STDIN:
            return self.format
        suffix, _ = suffix_of(Path(self.name))
        return Format.FILES if self.pages and suffix in PICTURES else BY_SUFFIX.get(suffix)

    def _file(self, path: Path) -> Found:
        with IsolatedReader(ocr=self.ocr) as reader:
            yield from read_documents_of(path, path.as_posix(), reader, pages=self.pages)

    def _lines(self, path: Path, fields: Fields) -> Found:
        with _open(path) as file:
            yield from self._read(file, self.name, self._format(), fields)

    def _read(self, file: BinaryIO, source: str, chosen: Format | None, fields: Fields) -> Found:
        if chosen is Format.JSON:
            seen = file if isinstance(file, (BufferedReader, GzipFile)) else BufferedReader(cast(Any, file))
            if seen.peek(PEEKED).removeprefix(BOM).lstrip().startswith(b"["):
                return read_json_array(cast(BinaryIO, seen), source, fields)
            return read_jsonl(bounded_lines(cast(BinaryIO, seen), source), source, fields)
        lines = bounded_lines(file, source)
        if chosen is None:
            chosen, lines = guess(lines)
        if chosen is Format.JSONL:
            return read_jsonl(lines, source, fields)
        if chosen is Format.CSV:
            return read_csv(lines, source, fields, self.delimiter)
        return read_tsv(lines, source, fields) if chosen is Format.TSV else read_lines(lines, source)


class DocumentReader:
    """The documents of all inputs, one by one. A bad document is raised; with ``skip_bad`` it is counted instead.

    >>> reader = DocumentReader([], Fields(), skip_bad=True)
    >>> list(reader), reader.bad
    ([], 0)
    """

    def __init__(self, inputs: Sequence[Input], fields: Fields, *, skip_bad: bool, pages_only: bool = False) -> None:
        self.inputs, self.fields, self.skip_bad = inputs, fields, skip_bad
        self._pages_only = pages_only
        self.bad = self.repeated = self.by_ocr = 0
        self.first_bad: BadInput | None = None
        self.has_ids: bool | None = None
        self._seen: dict[str, tuple[int, Place]] = {}

    def count(self) -> int | None:
        """The approximate number of documents, if it is known without reading them."""
        counts = [source.count() for source in self.inputs]
        return None if None in counts else sum(count for count in counts if count is not None)

    def __iter__(self) -> Iterator[InputDocument]:
        for source in self.inputs:
            for found in source.documents(self.fields):
                checked = found if isinstance(found, BadInput) else self._check(found)
                if isinstance(checked, InputDocument):
                    self.by_ocr += checked.by_ocr
                    yield checked
                elif checked is None:
                    self.repeated += 1
                elif self.skip_bad:
                    self.bad += 1
                    self.first_bad = self.first_bad or checked
                else:
                    raise checked

    def _check(self, document: InputDocument) -> InputDocument | BadInput | None:
        """Checks that all documents or none have an id. A repeated, unchanged document gives None."""
        if self._pages_only and document.page is None:
            return BadInput(document.place, NO_PAGE)
        if self.has_ids is None:
            self.has_ids = document.id is not None
        if self.has_ids != (document.id is not None):
            missing = (
                "has no id, but the documents before it have one"
                if self.has_ids
                else "has an id, but the documents before it have none"
            )
            return BadInput(document.place, missing)
        if document.id is not None:
            digest = hash((document.text, document.page and document.page.digest, repr(document.metadata)))
            first, place = self._seen.setdefault(document.id, (digest, document.place))
            if first != digest:
                return BadInput(
                    document.place, f"the id {document.id!r} was used for another document before ({place})"
                )
            if place != document.place:
                return None
        return document


def guess(lines: Iterable[bytes]) -> tuple[Format, Iterator[bytes]]:
    r"""The format, and all lines: JSON Lines if the first line that is not blank starts an object, else plain lines.

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
    """The lines of a file, or of standard input for ``-``."""
    if name == STDIN:
        yield bounded_lines(sys.stdin.buffer, "standard input")
        return
    with _open(Path(name)) as file:
        yield bounded_lines(file, name)


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Opens a file, which may be a pipe; it is decompressed if its name ends in ``.gz``."""
    with open(path, "rb") as file:
        if not suffix_of(path)[1]:
            yield file
            return
        with unpacking(file, str(path)) as inner:
            yield inner


def _count_lines(file: BinaryIO) -> int:
    lines, last = 0, b"\n"
    while block := file.read(1 << 20):
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")

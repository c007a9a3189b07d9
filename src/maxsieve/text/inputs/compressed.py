"""Files compressed by gzip, decompressed as a stream."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from maxsieve.common.files import open_regular

GZIP = ".gz"


def suffix_of(path: Path) -> tuple[str, bool]:
    """The suffix of a file without ``.gz``, and whether it is compressed.

    >>> suffix_of(Path("corpus.JSONL.gz")), suffix_of(Path("notes.md"))
    (('.jsonl', True), ('.md', False))
    """
    compressed = path.suffix.lower() == GZIP
    return (path.with_suffix("") if compressed else path).suffix.lower(), compressed


@contextmanager
def unpacking(file: BinaryIO, source: str) -> Iterator[BinaryIO]:
    """A stream of a compressed file's contents, open inside the block; `ValueError` if the file is broken."""
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as inner:
            yield cast(BinaryIO, inner)
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise ValueError(f"{source} can't be read as gzip: {problem}") from None


def read_compressed(path: Path, *, at_most: int) -> bytes:
    """The contents of a compressed file; `ValueError` if they are more than ``at_most`` bytes."""
    with open_regular(path, follow_links=True) as file, unpacking(file, str(path)) as inner:
        content = inner.read(at_most + 1)
    if len(content) > at_most:
        raise ValueError(f"{path} decompresses to more than {at_most} bytes, the limit")
    return content

"""Files that gzip has made smaller: unpacked as they are read, so that no more is in memory than is asked for."""

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
    """What a file is by its name, and whether it is compressed.

    >>> suffix_of(Path("corpus.JSONL.gz")), suffix_of(Path("notes.md"))
    (('.jsonl', True), ('.md', False))
    """
    compressed = path.suffix.lower() == GZIP
    return (path.with_suffix("") if compressed else path).suffix.lower(), compressed


@contextmanager
def unpacking(file: BinaryIO, source: str) -> Iterator[BinaryIO]:
    """What is in a compressed file, to be read inside the block; `ValueError` if it is broken."""
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as inner:
            yield cast(BinaryIO, inner)
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise ValueError(f"{source} can't be read as gzip: {problem}") from None


def read_compressed(path: Path, *, at_most: int) -> bytes:
    """All that is in a compressed file; `ValueError` if it is more than ``at_most`` bytes."""
    with open_regular(path, follow_links=True) as file, unpacking(file, str(path)) as inner:
        content = inner.read(at_most + 1)
    if len(content) > at_most:
        raise ValueError(f"{path} unpacks to more than {at_most} bytes, the most that are read")
    return content

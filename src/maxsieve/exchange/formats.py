"""Reads and writes all formats: the suffix decides the format, or that the path is a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.common.files import PathLike
from maxsieve.errors import Argument, hinted
from maxsieve.exchange.arrow import read_arrow, stream_arrow, write_arrow
from maxsieve.exchange.folder import read_folder, stream_folder, write_folder
from maxsieve.exchange.npy import read_npy, write_npy
from maxsieve.exchange.npz import read_npz, write_npz
from maxsieve.exchange.parquet import read_parquet, stream_parquet, write_parquet
from maxsieve.exchange.pt import read_pt
from maxsieve.exchange.safetensors import read_safetensors, write_safetensors
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.exchange.write_source import Writable


class FileFormat(NamedTuple):
    """Functions that read, stream (None: read as one chunk), write (None: read-only); whether lengths= is valid."""

    read: Callable[..., TokenVectors]
    stream: Callable[..., TokenVectorChunks] | None
    write: Callable[..., None] | None
    takes_lengths: bool


ARROW = FileFormat(read_arrow, stream_arrow, write_arrow, False)
FOLDER = FileFormat(read_folder, stream_folder, write_folder, False)
SUFFIXES = {
    ".npy": FileFormat(read_npy, None, write_npy, True),
    ".npz": FileFormat(read_npz, None, write_npz, True),
    ".safetensors": FileFormat(read_safetensors, None, write_safetensors, True),
    ".parquet": FileFormat(read_parquet, stream_parquet, write_parquet, False),
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".pt": FileFormat(read_pt, None, None, True),
}


def read(path: PathLike, *, lengths: Any = None, ids: Any = None, **options: Any) -> TokenVectors:
    """The token vectors of a file or folder, in one array; memory-mapped if the format allows.

    lengths, ids
        values for the documents, or a file of them, instead of those found there; lengths only if the format has none.
    options
        options of the format's own function: ``names`` for `read_npz`, `read_safetensors` and `read_pt`; ``column``,
        ``id_column`` and ``dim`` for `read_arrow` and `read_parquet`.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/it.npz", doc_tokens=np.eye(3), doclens=[1, 2])
    ...     read(f"{folder}/it.npz", ids=["a", "b"]).build().ids
    ['a', 'b']
    """
    chosen = _reading(path, lengths, options)
    return chosen.read(path, ids=ids, **options)


def stream(path: PathLike, *, lengths: Any = None, ids: Any = None, **options: Any) -> TokenVectorChunks:
    """The token vectors of a file or folder, chunk by chunk in bounded memory. Arguments as for `read`.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(TokenVectors(np.eye(3), [1, 2]), f"{folder}/it.parquet")
    ...     stream(f"{folder}/it.parquet").build().tokens
    3
    """
    chosen = _reading(path, lengths, options)
    if chosen.stream is not None:
        return chosen.stream(path, ids=ids, **options)
    vectors = chosen.read(path, ids=ids, **options)
    return TokenVectorChunks(lambda: iter([vectors]), vectors.ids, os.fspath(path))


def write(vectors: Writable, path: PathLike, **options: Any) -> None:
    """Writes token vectors or an index, which must not change meanwhile; a path without a suffix is a folder.

    An existing file is replaced when the new one is complete (a folder must be new or empty). An index is written
    document by document or in small chunks, so that it is never in memory as a whole.

    options
        options of the format's own function: ``style`` and ``chunk_bytes`` for `write_folder`.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(TokenVectors(np.eye(3), [1, 2]), f"{folder}/it")
    ...     read(f"{folder}/it").lengths
    array([1, 2])
    """
    suffix = Path(path).suffix.lower()
    chosen = FOLDER if suffix == "" or (suffix not in SUFFIXES and Path(path).is_dir()) else _by_suffix(path)
    if chosen.write is None:
        wrong = ValueError(f"{os.fspath(path)}: {suffix} can only be read; write a folder")
        raise hinted(wrong, " with {}", Argument("style", "colbert"))
    chosen.write(vectors, path, **options)


def _reading(path: PathLike, lengths: Any, options: dict[str, Any]) -> FileFormat:
    """The format of a path to read; adds lengths to the options if they were given."""
    if Path(path).is_dir():
        chosen = FOLDER
    elif not os.path.lexists(path):
        raise FileNotFoundError(f"there is no file or folder {os.fspath(path)}")
    else:
        chosen = _by_suffix(path)
    if lengths is not None:
        if not chosen.takes_lengths:
            raise ValueError(f"{os.fspath(path)}: this format has its own lengths; leave out lengths=")
        options["lengths"] = lengths
    return chosen


def _by_suffix(path: PathLike) -> FileFormat:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)}: the suffix does not tell the format; known: {', '.join(SUFFIXES)} and folders"
        )
    return SUFFIXES[suffix]

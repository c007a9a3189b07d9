"""``NAME.npy`` with the rows, ``NAME.lengths.npy``, and ``NAME.ids.json`` if there are ids."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

from maxsieve.common.files import PathLike, replacing
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.header import load_array, write_header
from maxsieve.exchange.sidecars import (
    IDS,
    LENGTHS,
    beside,
    dump_list,
    given_ids,
    given_lengths,
    ids_beside,
    lengths_beside,
)
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.exchange.write_source import Writable, write_source


def read_npy(path: PathLike, *, lengths: Any = None, ids: Any = None) -> TokenVectors:
    """The rows [tokens, d] of a ``.npy`` file, memory-mapped: nothing is copied, nothing read before it is needed.

    lengths
        lengths of the documents, or a file of them (``.npy`` or a JSON list); by default ``NAME.lengths.npy``,
        ``NAME.doclens.npy``, ``NAME.doclens.json`` or ``doclens.NAME.json`` beside it.
    ids
        ids of the documents, or a file of them (a JSON list); by default ``NAME.ids.json``, if there is one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.eye(3))
    ...     read_npy(f"{folder}/rows.npy", lengths=[1, 2])
    <maxsieve.exchange.TokenVectors: 2 documents, 3 tokens, dim 3, float64>
    """
    rows = load_array(path)
    lengths, ids = given_lengths(lengths), given_ids(ids)
    if lengths is None and rows.ndim == 2:  # otherwise the shape is wrong, which is reported below
        lengths = lengths_beside(path)
    if ids is None:
        ids = ids_beside(beside(path, IDS))
    with naming_content_errors(path):
        return TokenVectors(rows, lengths, ids)


def write_npy(vectors: Writable, path: PathLike) -> None:
    """Writes ``NAME.npy``, ``NAME.lengths.npy`` and ``NAME.ids.json``, an index document by document.

    All three are complete before the first replaces the old file. The lengths come last, so that a reader in between,
    or after a crash, gets an error that they are missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npy(TokenVectors(np.eye(3), [1, 2], ["a", "b"]), f"{folder}/rows.npy")
    ...     read_npy(f"{folder}/rows.npy").ids
    ['a', 'b']
    """
    source = write_source(vectors)
    lengths_path, ids_path = beside(path, LENGTHS[0]), beside(path, IDS)
    with naming_content_errors(path), ExitStack() as files:  # closed in reverse order: rows, ids, lengths
        lengths_file = files.enter_context(replacing(lengths_path))
        ids_file = None if source.ids is None else files.enter_context(replacing(ids_path))
        rows_file = files.enter_context(replacing(path))
        write_header(rows_file, source.dtype, (source.tokens, source.dim))
        lengths = source.put(rows_file.write)
        write_header(lengths_file, np.dtype("<i8"), lengths.shape)
        lengths_file.write(lengths.astype("<i8").tobytes())
        if ids_file is not None:
            ids_file.write(dump_list(source.ids or []))
            ids_file.flush()
        lengths_file.flush()
        rows_file.flush()
        lengths_path.unlink(missing_ok=True)
        if ids_file is None:
            ids_path.unlink(missing_ok=True)

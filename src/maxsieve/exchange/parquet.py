"""Parquet: list columns, one row per document, read a few documents at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

from maxsieve.arrays import FloatArray
from maxsieve.common.files import PathLike, open_regular, replacing
from maxsieve.common.optional import optional
from maxsieve.exchange.batches import damaged, schema_of, stream_columns, to_batch
from maxsieve.exchange.columns import choose_columns
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.exchange.write_source import BLOCK_BYTES, Writable, write_source
from maxsieve.ids import Id


def read_parquet(
    path: PathLike, *, column: str | None = None, id_column: str | None = None, dim: int | None = None, ids: Any = None
) -> TokenVectors:
    """All token vectors of a Parquet file. They are copied, because the format is encoded. Arguments: `stream_parquet`.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(TokenVectors(np.eye(3), [1, 2], [7, 8]), f"{folder}/it.parquet")
    ...     read_parquet(f"{folder}/it.parquet").ids
    [7, 8]
    """
    return stream_parquet(path, column=column, id_column=id_column, dim=dim, ids=ids).joined()


def stream_parquet(
    path: PathLike, *, column: str | None = None, id_column: str | None = None, dim: int | None = None, ids: Any = None
) -> TokenVectorChunks:
    """The token vectors of a Parquet file, about 16 MiB at a time. The ids are read first, all at once.

    Arguments as for `stream_arrow`. ``stream_parquet(path).build(...)`` holds a row group's pages and one such chunk.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(TokenVectors(np.eye(3), [1, 2]), f"{folder}/it.parquet")
    ...     stream_parquet(f"{folder}/it.parquet").build().tokens
    3
    """
    with naming_content_errors(path, *damaged()), _open(path) as file:
        columns = choose_columns(file.schema_arrow, column, id_column, dim)
    return stream_columns(path, columns, ids, lambda name: _batches(path, name))


def iter_parquet(
    path: PathLike, *, column: str | None = None, id_column: str | None = None, dim: int | None = None
) -> Iterator[tuple[Id, FloatArray]]:
    """Ids and documents [L, d] of a Parquet file, one by one, as `stream_parquet` reads them.

    Without ids, documents are numbered from 0.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(TokenVectors(np.eye(3), [1, 2], ["a", "b"]), f"{folder}/it.parquet")
    ...     [(doc_id, rows.shape) for doc_id, rows in iter_parquet(f"{folder}/it.parquet")]
    [('a', (1, 3)), ('b', (2, 3))]
    """
    chunks = stream_parquet(path, column=column, id_column=id_column, dim=dim)
    yield from zip(count() if chunks.ids is None else chunks.ids, chunks.documents(), strict=False)


def write_parquet(vectors: Writable, path: PathLike) -> None:
    """Writes columns ``id`` and ``vectors``: list<fixed_size_list<float>[d]>, in row groups of about 16 MiB.

    One row group is in memory at a time. Not compressed, because vectors hardly compress.
    """
    pa, pq = optional("pyarrow", "arrow"), optional("pyarrow.parquet", "arrow")
    source = write_source(vectors)
    with naming_content_errors(path, pa.ArrowException), replacing(path) as file:
        options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with pq.ParquetWriter(file, schema_of(source), **options) as writer:
            for block in source.blocks():
                writer.write_batch(to_batch(block))


def _batches(path: PathLike, name: str) -> Iterator[Any]:
    with _open(path) as file:
        documents = file.metadata.num_rows
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        some = min(max(1, BLOCK_BYTES * documents // max(1, size)), 65536)
        yield from file.iter_batches(some, columns=[name])


def _open(path: PathLike) -> Any:
    """The file, without read-ahead and not memory-mapped: it is copied anyway, and may be truncated meanwhile."""
    open_regular(path, follow_links=True).close()
    return optional("pyarrow.parquet", "arrow").ParquetFile(os.fspath(path), pre_buffer=False)

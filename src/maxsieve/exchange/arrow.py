"""Arrow IPC files and streams (``.arrow``, ``.feather``, ``.ipc``): memory-mapped record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from maxsieve.arrays import check_mapped
from maxsieve.common.files import PathLike, replacing
from maxsieve.common.optional import optional
from maxsieve.exchange.batches import damaged, schema_of, stream_columns, to_batch
from maxsieve.exchange.columns import choose_columns
from maxsieve.exchange.files import Mapped, map_file, naming_content_errors
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.exchange.write_source import Writable, write_source

MOST_TOKENS = 2**31 - 1
"""Limit on the tokens of one batch: its offsets have 32 bits."""


def read_arrow(
    path: PathLike, *, column: str | None = None, id_column: str | None = None, dim: int | None = None, ids: Any = None
) -> TokenVectors:
    """All token vectors of an Arrow file. One uncompressed batch is not copied; several are copied into one array.

    Arguments as for `stream_arrow`, which copies nothing.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrow(TokenVectors(np.eye(3), [1, 2], ["a", "b"]), f"{folder}/it.arrow")
    ...     read_arrow(f"{folder}/it.arrow").ids
    ['a', 'b']
    """
    return stream_arrow(path, column=column, id_column=id_column, dim=dim, ids=ids).joined()


def stream_arrow(
    path: PathLike, *, column: str | None = None, id_column: str | None = None, dim: int | None = None, ids: Any = None
) -> TokenVectorChunks:
    """The token vectors of an Arrow file or stream, batch by batch, memory-mapped unless they are compressed.

    column
        the column of vectors, one row per document: list<fixed_size_list<float>[d]>, list<list<float>>, or
        list<float> with ``dim``; by default ``vectors``, or the only column of lists.
    id_column
        the column of ids, str or int; by default ``id``, if there is one.
    dim
        the dimension of a vector, if the type does not say it.
    ids
        ids of the documents, or a JSON file of them, instead of those in the file.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrow(TokenVectors(np.eye(3), [1, 2]), f"{folder}/it.arrow")
    ...     stream_arrow(f"{folder}/it.arrow").build().tokens
    3
    """
    with naming_content_errors(path, *damaged()):
        schema, _ = _open(path)
        columns = choose_columns(schema, column, id_column, dim)
    return stream_columns(path, columns, ids, lambda _: _batches(path))


def write_arrow(vectors: Writable, path: PathLike) -> None:
    """Writes columns ``id`` and ``vectors``: list<fixed_size_list<float>[d]>, uncompressed.

    `TokenVectors` become one batch, so that reading does not copy. An index becomes batches of about 16 MiB, of which
    one is in memory at a time.
    """
    pa = optional("pyarrow", "arrow")
    source = write_source(vectors)
    with naming_content_errors(path, pa.ArrowException), replacing(path) as file:
        blocks: Iterable[TokenVectors] = source.blocks()
        if isinstance(vectors, TokenVectors) and vectors.rows.dtype == source.dtype and source.tokens <= MOST_TOKENS:
            blocks = [vectors]
        with pa.OSFile(file.name, "wb") as sink, pa.ipc.new_file(sink, schema_of(source)) as writer:
            for block in blocks:
                writer.write_batch(to_batch(block))


def _batches(path: PathLike) -> Iterator[Any]:
    _, batches = _open(path)
    yield from batches


def _open(path: PathLike) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of a file, in either of Arrow's two forms."""
    pa = optional("pyarrow", "arrow")
    data = map_file(path)
    source = pa.BufferReader(pa.py_buffer(data))
    mark = source.read(6)
    source.seek(0)
    if mark[:4] == b"FEA1":
        raise ValueError("this is Feather version 1; only version 2, which is Arrow IPC, can be read")
    if mark != b"ARROW1":
        stream = pa.ipc.open_stream(source)
        return stream.schema, _checked(iter(stream), data)
    reader = pa.ipc.open_file(source)
    return reader.schema, _checked((reader.get_batch(i) for i in range(reader.num_record_batches)), data)


def _checked(batches: Iterator[Any], data: Mapped) -> Iterator[Any]:
    """The batches; before each one it checks that the file was not truncated meanwhile."""
    bytes_of_file = np.frombuffer(data, np.uint8)
    while True:
        check_mapped([bytes_of_file])
        if (batch := next(batches, None)) is None:
            return
        yield batch

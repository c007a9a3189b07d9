"""Arrow IPC files and streams (``.arrow``, ``.feather``, ``.ipc``), memory-mapped; tables and readers in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from maxsieve.arrays import check_mapped
from maxsieve.common.files import PathLike, replacing
from maxsieve.common.optional import optional
from maxsieve.exchange.batches import damaged, pieces_of, schema_of, stream_columns, to_batch
from maxsieve.exchange.columns import MetadataColumns, choose_columns, choose_metadata
from maxsieve.exchange.files import Mapped, map_file, naming_content_errors
from maxsieve.exchange.sidecars import given_ids
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


def from_arrow(
    source: Any,
    *,
    column: str | None = None,
    id_column: str | None = None,
    metadata_columns: MetadataColumns = None,
    dim: int | None = None,
    ids: Any = None,
) -> TokenVectorChunks:
    """The token vectors of an Arrow table, record batch or reader, one row per document, as views of its memory.

    source
        a pyarrow object, or anything with ``__arrow_c_stream__``: a frame of Polars, a relation of DuckDB. A reader is
        read batch by batch, and only once. Numbers never become Python objects.
    column, id_column, dim
        as for `stream_arrow`: by default, the only column of lists, and ``id``.
    metadata_columns
        names of columns, or ``"all"`` others, that become one record per document; their types must fit JSON.
    ids
        ids of the documents, instead of those in the source.

    A null document, vector or number is an error that names its row; an empty list is a document without tokens.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": ["a", "b"], "emb": [[[1.0, 0.0]], [[0.0, 1.0], [0.6, 0.8]]], "title": ["A", "B"]})
    >>> index = from_arrow(table, column="emb", metadata_columns=["title"]).build()
    >>> hits = index.search([[0.0, 1.0]], k=1)
    >>> hits.ids, hits.metadata
    (['b'], [{'title': 'B'}])
    """
    known = given_ids(ids)
    opened = _open_table(source)
    columns = choose_columns(opened.schema, column, id_column, dim)
    columns = columns._replace(metadata=choose_metadata(opened.schema, columns, metadata_columns))
    if known is not None:
        columns = columns._replace(id=None)
    names = [name for name in (columns.vectors, columns.id, *columns.metadata) if name is not None]

    def pieces() -> Iterator[TokenVectors]:
        with naming_content_errors(opened.origin):
            yield from pieces_of((batch.select(names) for batch in opened.batches()), columns)

    return TokenVectorChunks(pieces, known, opened.origin, opened.once)


class _Opened(NamedTuple):
    schema: Any
    batches: Callable[[], Iterator[Any]]
    origin: str
    once: bool


def _open_table(source: Any) -> _Opened:
    pa = optional("pyarrow", "arrow")
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return _Opened(source.schema, lambda: iter(source.to_batches()), "the table", False)
    streams = hasattr(source, "__arrow_c_stream__")
    if not streams and not hasattr(source, "__arrow_c_array__"):
        hint = "; its to_arrow() gives one" if hasattr(source, "to_arrow") else ""
        raise TypeError(f"an Arrow table or reader is expected, not {type(source).__name__}{hint}")
    try:
        if not streams:
            return _open_table(pa.record_batch(source))
        reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    except pa.ArrowInvalid as problem:
        raise TypeError(f"{type(source).__name__} is not a table with named columns: {problem}") from None
    unread = [reader]

    def batches() -> Iterator[Any]:
        if not unread:
            raise ValueError("it was read before, and can be read only once; joined() keeps all of it")
        yield from unread.pop()

    return _Opened(reader.schema, batches, "the reader", True)

"""Arrow tables, batches and readers, as from LanceDB, DuckDB, Polars and others, without copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from maxsieve.common.optional import optional
from maxsieve.exchange.batches import pieces_of
from maxsieve.exchange.columns import MetadataColumns, choose_columns, choose_metadata
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.sidecars import given_ids
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors


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
    opened = _open(source)
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


def _open(source: Any) -> _Opened:
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
            return _open(pa.record_batch(source))
        reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    except pa.ArrowInvalid as problem:
        raise TypeError(f"{type(source).__name__} is not a table with named columns: {problem}") from None
    unread = [reader]

    def batches() -> Iterator[Any]:
        if not unread:
            raise ValueError("it was read before, and can be read only once; joined() keeps all of it")
        yield from unread.pop()

    return _Opened(reader.schema, batches, "the reader", True)

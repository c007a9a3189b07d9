"""The rows of a Ray dataset as texts, ids and metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import tee
from typing import Any, NamedTuple

from maxsieve.ids import Id, to_id
from maxsieve.storage.metadata import to_json

ROWS = 256
"""The number of rows that are read from the dataset at a time."""


class Columns(NamedTuple):
    """Three streams that are read in parallel. If one stream is ahead, its rows are buffered for the others."""

    texts: Iterator[str]
    ids: Iterator[Id] | None
    metadata: Iterator[Any] | None


def is_dataset(given: object) -> bool:
    """Whether an object is a Ray dataset. Does not import Ray: a dataset exists only if Ray is imported."""
    data = sys.modules.get("ray.data")
    return data is not None and isinstance(given, data.Dataset)


def read_columns(dataset: Any, text: str | None, id: str | None, ids: Any, metadata: Any) -> Columns:
    """The columns of a dataset, in the order of its rows. Ray Data streams the rows: few are in memory at a time.

    ids
        must be None: the column ``id`` has them.
    metadata
        the names of columns, which become the fields of an object; or the name of one column that has the metadata.
    """
    if text is None or ids is not None:
        raise ValueError("for a dataset, name the columns: text='...', and id='...' if it has ids")
    wanted = [text, *([] if id is None else [id]), *([metadata] if isinstance(metadata, str) else metadata or [])]
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"columns are named by str, not by {name!r}")
    rows = _rows(dataset, list(dict.fromkeys(wanted)), text, id, metadata)
    texts, ids, records = tee(rows, 3)
    return Columns(
        (row[0] for row in texts),
        None if id is None else (row[1] for row in ids),
        None if metadata is None else (row[2] for row in records),
    )


def _rows(
    dataset: Any, wanted: list[str], text: str, id: str | None, metadata: str | Sequence[str] | None
) -> Iterator[tuple[str, Any, Any]]:
    schema = dataset.schema(fetch_if_missing=False)
    if schema is not None:
        _check_columns(schema.names, wanted)
        dataset = dataset.select_columns(wanted)
    # each dataset has its own context: other datasets are not changed
    dataset.context.execution_options.preserve_order = True
    dataset.context.enable_progress_bars = False
    place = 0
    for table in dataset.iter_batches(batch_size=ROWS, batch_format="pyarrow", prefetch_batches=2):
        _check_columns(table.column_names, wanted)
        columns = {name: table.column(name).to_pylist() for name in wanted}
        for number in range(table.num_rows):
            row = {name: column[number] for name, column in columns.items()}
            yield _checked(row, place, text, id, metadata)
            place += 1


def _checked(
    row: dict[str, Any], place: int, text: str, id: str | None, metadata: str | Sequence[str] | None
) -> tuple[str, Any, Any]:
    """The text, id and metadata of a row. Errors name the row and the column."""
    if row[text] is None:
        raise TypeError(f"row {place}, column {text!r}: there is no text")
    if not isinstance(row[text], str):
        raise TypeError(f"row {place}, column {text!r}: a text is a str, not {type(row[text]).__name__}")
    named: Id | None = None
    if id is not None:
        if row[id] is None:
            raise TypeError(f"row {place}, column {id!r}: there is no id")
        try:
            named = to_id(row[id], f"row {place}, column {id!r}")
        except TypeError:
            kind = type(row[id]).__name__
            raise TypeError(f"row {place}, column {id!r}: an id is a str or an int, not {kind}") from None
    if metadata is None:
        return row[text], named, None
    record = row[metadata] if isinstance(metadata, str) else {name: row[name] for name in metadata}
    try:
        to_json(record)
    except TypeError:
        for name in [metadata] if isinstance(metadata, str) else metadata:
            _check_json(row[name], f"row {place}, column {name!r}")
        raise
    return row[text], named, record


def _check_json(value: Any, where: str) -> None:
    try:
        to_json(value)
    except TypeError as problem:
        raise TypeError(f"{where}: {problem}") from None


def _check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            raise ValueError(f"the dataset has no column {name!r}; it has {', '.join(map(repr, there)) or 'none'}")

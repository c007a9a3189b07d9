"""Parquet, through pyarrow, which is an extra."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxsieve.common.files import open_regular
from maxsieve.errors import Argument, hinted
from maxsieve.text.inputs.document import (
    DEFAULT_IDS,
    MOST_VALUES,
    TOO_MANY_VALUES,
    BadInput,
    Fields,
    Found,
    Place,
    list_names,
)
from maxsieve.text.inputs.lines import LONGEST_LINE

BATCH_ROWS = 16
"""How many rows are in memory at a time: a file of a few kilobytes may repeat one long value in all its rows."""


def read_parquet(path: Path, fields: Fields) -> Found:
    """Each row is a document. Values that JSON can't represent (dates, decimals) become text."""
    from maxsieve.common.optional import optional

    pa, pq = optional("pyarrow", "arrow"), optional("pyarrow.parquet", "arrow")
    source = str(path)
    number = 0
    open_regular(path, follow_links=True).close()  # a pipe would block
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=_wanted(file.schema_arrow.names, source, fields)):
                for row in _rows(batch):
                    number += 1
                    place = Place(source, "row", number)
                    if row is None:
                        yield BadInput(place, TOO_MANY_VALUES)
                        continue
                    try:
                        plain = {name: _plain(value, name) for name, value in row.items()}
                        _check_length(plain)
                    except ValueError as problem:
                        yield BadInput(place, problem)
                        continue
                    yield fields.document(plain, place)
    except (pa.ArrowException, OSError) as problem:
        raise ValueError(f"{source} can't be read as Parquet: {str(problem).splitlines()[0]}") from problem


def count_rows(path: Path) -> int | None:
    """How many rows the file says it has."""
    from maxsieve.common.optional import optional

    try:
        return int(optional("pyarrow.parquet", "arrow").read_metadata(path).num_rows)
    except (ImportError, OSError, ValueError):
        return None


def _wanted(names: list[str], source: str, fields: Fields) -> list[str] | None:
    if fields.text not in names:
        listed = list_names(names)
        wrong = ValueError(f"{source}: there is no column {fields.text!r}, only {listed}")
        raise hinted(wrong, "; give one by {}", Argument("text"))
    if fields.keep is None:
        return None
    needed = {fields.text, fields.title, *([fields.id] if fields.id else DEFAULT_IDS), *fields.keep}
    return [name for name in names if name in needed]


def _rows(batch: Any) -> Iterator[dict[str, Any] | None]:
    """The rows; None instead of one with too many values, of which a file of some kilobytes may have billions."""
    if sum(map(_count_values, batch.columns)) <= MOST_VALUES:
        yield from batch.to_pylist()
        return
    for i in range(batch.num_rows):
        row = batch.slice(i, 1)
        yield row.to_pylist()[0] if sum(map(_count_values, row.columns)) <= MOST_VALUES else None


def _count_values(array: Any) -> int:
    """How many values an array has, at all levels of its lists."""
    if hasattr(array, "flatten"):
        inner = array.flatten()  # the values of a list; the fields of a struct
        return len(array) + sum(map(_count_values, inner if isinstance(inner, list) else [inner]))
    return len(array)


def _check_length(row: dict[str, Any]) -> None:
    """A row may be as long as a line of JSON Lines."""
    if (length := sum(len(value) for value in row.values() if isinstance(value, str))) > LONGEST_LINE:
        raise ValueError(f"it has {length:,} characters; at most {LONGEST_LINE:,} are read")


def _plain(value: Any, name: str) -> Any:
    """The value in a JSON-compatible form."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, bytes):
        wrong = ValueError(f"the column {name!r} holds bytes")
        raise hinted(wrong, "; list the other columns by {}", Argument("keep"))
    if isinstance(value, dict):
        return {str(key): _plain(part, name) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, name) for part in value]
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return str(value)

"""Bad Arrow and Parquet files: an error that names the file, the row, and says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import npy_bytes, refused

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


COLUMNS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "ragged in d": ({"vectors": [[[1.0, 2.0]], [[1.0, 2.0], [1.0]]]}, {}, "row 1 has a vector of 1 numbers; 2"),
    "ragged in d later": ({"vectors": [[], [[1.0]], [[1.0, 2.0]]]}, {}, "row 2 has a vector of 2 numbers; 1"),
    "another d": ({"vectors": [[[1.0, 2.0]]]}, {"dim": 3}, "row 0 has a vector of 2 numbers; 3"),
    "no d": ({"vectors": [[[]], [[1.0]]]}, {}, "row 1 has a vector of 1 numbers; 0|0 dimensions"),
    "null document": ({"vectors": [[[1.0]], None]}, {}, "row 1: the document is null"),
    "null vector": ({"vectors": [[[1.0]], [], [[1.0], None]]}, {}, "row 2: a vector is null"),
    "null number": ({"vectors": [[[1.0]], [], [[1.0], [None]]]}, {}, "row 2: a number is null"),
    "null id": ({"vectors": [[[1.0]], [[1.0]]], "id": ["a", None]}, {}, "row 1: the id is null"),
    "float ids": ({"vectors": [[[1.0]]], "id": [1.5]}, {}, "a str or an int"),
    "binary ids": ({"vectors": [[[1.0]]], "id": [b"x"]}, {}, "a str or an int"),
    "flat without d": ({"vectors": [[1.0, 2.0]]}, {}, "all vectors concatenated: give dim="),
    "flat and ragged": ({"vectors": [[1.0, 2.0], [1.0]]}, {"dim": 2}, "row 1 has 1 numbers"),
    "flat and null": ({"vectors": [[1.0, 2.0], [1.0, None]]}, {"dim": 2}, "row 1: a number is null"),
    "whole numbers": ({"vectors": [[[1, 2]]]}, {}, "column 'vectors' is list<.*int64.*is expected"),
    "text": ({"vectors": ["x"]}, {}, "column 'vectors' is string"),
    "three levels": ({"vectors": [[[[1.0]]]]}, {}, "column 'vectors' is list<"),
    "which column": ({"a": [[[1.0]]], "b": [[[1.0]]]}, {}, "which column holds the vectors.*'a', 'b'"),
    "no such column": ({"a": [[[1.0]]]}, {"column": "x"}, "there must be one column 'x', not 0; the columns are 'a'"),
    "no such id column": ({"a": [[[1.0]]]}, {"id_column": "x"}, "there must be one column 'x', not 0"),
    "no token": ({"vectors": [[[1.0]], []]}, {}, "no document has a token.*give dim="),
    "few ids given": ({"vectors": [[[1.0]], [[1.0]]]}, {"ids": ["a"]}, "more documents than the 1 ids"),
    "many ids given": ({"vectors": [[[1.0]]]}, {"ids": ["a", "b"]}, "2 ids for 1 documents"),
}


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
@pytest.mark.parametrize(("columns", "options", "words"), COLUMNS.values(), ids=COLUMNS)
def test_columns(tmp_path: Path, suffix: str, columns: Any, options: dict[str, Any], words: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"it.{suffix}"
    table = pa.table(columns)
    if "no document" in words:
        table = table[1:]
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    refused(path, words, **options)


@pytest.mark.parametrize("bad", [[0, 2, 10**6], [0, 7, 6], [-5, 2, 6], [0, 2, -1]])
def test_offsets_that_point_anywhere(tmp_path: Path, bad: list[int]) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "it.arrow"
    exchange.write(TokenVectors(ROWS, [2, 4]), path)
    data = path.read_bytes()
    good = np.array([0, 2, 6], np.int32).tobytes()
    assert data.count(good) == 1
    path.unlink()
    path.write_bytes(data.replace(good, np.array(bad, np.int32).tobytes()))
    refused(path, "offset")


def test_a_type_of_another_dimension(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name in ("it.arrow", "it.parquet"):
        exchange.write(TokenVectors(ROWS, [6]), tmp_path / name)
        refused(tmp_path / name, "vectors of 4 dimensions; 3 are expected", dim=3)
        refused(tmp_path / name, "its own lengths", lengths=[6])


@pytest.mark.parametrize("name", ["it.arrow", "it.feather", "it.parquet"])
@pytest.mark.parametrize("data", [b"", b"x", b"FEA1" + bytes(50), b"ARROW1" + bytes(50), b"PAR1PAR1", npy_bytes(ROWS)])
def test_another_format(tmp_path: Path, name: str, data: bytes) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, "it")

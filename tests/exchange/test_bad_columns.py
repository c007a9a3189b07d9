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
    "ragged in d": ({"vectors": [[[1.0, 2.0]], [[1.0, 2.0], [1.0]]]}, {}, r"row 1\b.*\b1\b.*\b2\b"),
    "ragged in d later": ({"vectors": [[], [[1.0]], [[1.0, 2.0]]]}, {}, r"row 2\b.*\b2\b.*\b1\b"),
    "another d": ({"vectors": [[[1.0, 2.0]]]}, {"dim": 3}, r"row 0\b.*\b2\b.*\b3\b"),
    "no d": ({"vectors": [[[]], [[1.0]]]}, {}, r"row 1\b.*\b1\b.*\b0\b|0 dimensions"),
    "null document": ({"vectors": [[[1.0]], None]}, {}, "row 1: .*document.*null"),
    "null vector": ({"vectors": [[[1.0]], [], [[1.0], None]]}, {}, "row 2: .*vector.*null"),
    "null number": ({"vectors": [[[1.0]], [], [[1.0], [None]]]}, {}, "row 2: .*number.*null"),
    "null id": ({"vectors": [[[1.0]], [[1.0]]], "id": ["a", None]}, {}, r"row 1: .*\bid\b.*null"),
    "float ids": ({"vectors": [[[1.0]]], "id": [1.5]}, {}, r"\bids?\b.*\bstr\b"),
    "binary ids": ({"vectors": [[[1.0]]], "id": [b"x"]}, {}, r"\bids?\b.*\bstr\b"),
    "flat without d": ({"vectors": [[1.0, 2.0]]}, {}, "column 'vectors'.*dim="),
    "flat and ragged": ({"vectors": [[1.0, 2.0], [1.0]]}, {"dim": 2}, r"row 1\b.*\b1\b"),
    "flat and null": ({"vectors": [[1.0, 2.0], [1.0, None]]}, {"dim": 2}, "row 1: .*number.*null"),
    "whole numbers": ({"vectors": [[[1, 2]]]}, {}, "column 'vectors'.*int64"),
    "text": ({"vectors": ["x"]}, {}, "column 'vectors'.*string"),
    "three levels": ({"vectors": [[[[1.0]]]]}, {}, "column 'vectors'.*list<"),
    "which column": ({"a": [[[1.0]]], "b": [[[1.0]]]}, {}, "column.*'a', 'b'"),
    "no such column": ({"a": [[[1.0]]]}, {"column": "x"}, "column 'x'.*'a'"),
    "no such id column": ({"a": [[[1.0]]]}, {"id_column": "x"}, "column 'x'"),
    "no token": ({"vectors": [[[1.0]], []]}, {}, "token.*dim="),
    "few ids given": ({"vectors": [[[1.0]], [[1.0]]]}, {"ids": ["a"]}, "1 ids"),
    "many ids given": ({"vectors": [[[1.0]]]}, {"ids": ["a", "b"]}, "2 ids"),
}


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
@pytest.mark.parametrize(("columns", "options", "words"), COLUMNS.values(), ids=COLUMNS)
def test_columns(tmp_path: Path, suffix: str, columns: Any, options: dict[str, Any], words: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"it.{suffix}"
    table = pa.table(columns)
    if "token" in words:
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
        refused(tmp_path / name, r"\b4\b.*\b3\b", dim=3)
        refused(tmp_path / name, "lengths", lengths=[6])


@pytest.mark.parametrize("name", ["it.arrow", "it.feather", "it.parquet"])
@pytest.mark.parametrize("data", [b"", b"x", b"FEA1" + bytes(50), b"ARROW1" + bytes(50), b"PAR1PAR1", npy_bytes(ROWS)])
def test_another_format(tmp_path: Path, name: str, data: bytes) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, "it")

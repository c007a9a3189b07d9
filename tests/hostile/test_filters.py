"""Filters on forged metadata: an answer or a `DamagedIndexError`, in a short time, and nothing else."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError

from .support import DIM, build

QUERY = np.ones((1, DIM))
FILTERS: list[dict[str, Any]] = [
    {"n": {"gte": 2}},
    {"n": {"ne": 2}},
    {"n": {"contains": 1}},
    {"n": {"in": [1, 2, "x", None]}},
    {'q"': {"exists": False}},
]


def forge(path: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Changes the records of an index. Their checksum is not checked before `verify`."""
    [file] = path.glob("*.records")
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    change(connection)
    connection.close()


def put(record: Any, position: int = 2) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute("UPDATE records SET record = ? WHERE position = ?", (record, position))


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize(
    "record",
    ["", "{", '{"n":1', "{n:1}", "{'n':1}", '{"n":1}x', '{"n":0x10}', '{"n":+1}', '{"n":1,}', '{"n":"\n"}', "\x01"],
)
def test_invalid_json_is_reported_as_damage(record: Any, where: dict[str, Any], tmp_path: Path) -> None:
    build(tmp_path / "x")
    forge(tmp_path / "x", put(record))
    with ms.Index.open(tmp_path / "x") as index, pytest.raises(DamagedIndexError, match=r"00000001\.records"):
        index.search(QUERY, where=where)


def test_json_that_sqlite_refuses_is_read_by_python(tmp_path: Path) -> None:
    """SQLite limits the depth. What Python wrote and can read is not damage."""
    build(tmp_path / "x", delete=False)
    forge(tmp_path / "x", put('{"n":7,"deep":' + "[" * 800 + "]" * 800 + "}"))
    with ms.Index.open(tmp_path / "x") as index:
        assert index.search(QUERY, where={"n": {"gte": 7}}).ids == ["d2"]


def test_a_number_that_json_does_not_have(tmp_path: Path) -> None:
    build(tmp_path / "x")
    forge(tmp_path / "x", put('{"n":NaN}', 4))
    with (
        ms.Index.open(tmp_path / "x") as index,
        pytest.raises(DamagedIndexError, match=r"00000001\.records\b.*\bNaN\b"),
    ):
        index.search(QUERY, where={"n": {"gte": 7}})


@pytest.mark.parametrize("where", FILTERS)
def test_bytes_that_are_no_text(where: dict[str, Any], tmp_path: Path) -> None:
    """SQLite from 3.45 on would read some of them as its own binary JSON."""
    build(tmp_path / "x")
    for blob in (b"\x8c\x17n\x13" + b"1", b"\xff\xfe\x00", bytes(range(256))):
        forge(tmp_path / "x", put(blob))
        with ms.Index.open(tmp_path / "x") as index, pytest.raises(DamagedIndexError, match=r"00000001\.records"):
            index.search(QUERY, where=where)


def test_a_record_of_no_document_is_never_a_hit(tmp_path: Path) -> None:
    ids = build(tmp_path / "x")

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO records VALUES (-1, '{\"n\":9}'), (6, '{\"n\":9}'), (1000000, '{\"n\":9}')")

    forge(tmp_path / "x", change)
    with ms.Index.open(tmp_path / "x") as index:
        assert index.search(QUERY, where={"n": 9}).ids == []
        assert set(index.search(QUERY, where={"n": {"ne": 9}}).ids) == set(ids) - {"d3"}  # which is empty


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT load_extension('x'); END",
        "CREATE INDEX i ON records (json_extract(record, '$.n'))",
        "DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
        "SELECT x AS position, '{}' AS record FROM c",
        "DROP TABLE records; CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL, "
        "more AS (json_extract(record, '$')))",
    ],
)
def test_a_schema_that_is_not_ours_is_never_asked(sql: str, tmp_path: Path) -> None:
    build(tmp_path / "x")
    forge(tmp_path / "x", lambda connection: connection.executescript(sql))
    with pytest.raises(DamagedIndexError, match=r"00000001\.records"):
        ms.Index.open(tmp_path / "x")


PAGE = 4096


def interior(first: int, child: int, keys: list[int]) -> bytes:
    """A page of a table's tree whose children are all the same page."""
    cells = [struct.pack(">I", child) + varint(key) for key in keys]
    content, places, end = bytearray(PAGE), [], PAGE
    for cell in cells:
        end -= len(cell)
        content[end : end + len(cell)] = cell
        places.append(end)
    header = struct.pack(">BHHHBI", 5, 0, len(cells), end, 0, child)
    content[first : first + len(header)] = header
    content[first + len(header) : first + len(header) + 2 * len(places)] = struct.pack(f">{len(places)}H", *places)
    return bytes(content)


def varint(number: int) -> bytes:
    found = [number & 127]
    while number := number >> 7:
        found.append(number & 127 | 128)
    return bytes(reversed(found))


def entangle(file: Path, root: int, levels: int, children: int) -> None:
    """Makes the tree of a table have 10^levels paths to its one leaf, in a file that is hardly larger."""
    content = bytearray(file.read_bytes())
    assert struct.unpack_from(">H", content, 16)[0] == PAGE
    first = 100 if root == 1 else 0
    leaf = content[(root - 1) * PAGE : root * PAGE]
    pages = [bytes(content[i * PAGE : (i + 1) * PAGE]) for i in range(len(content) // PAGE)]
    if first:  # places of cells count from the page's beginning, so that the leaf can stay as it is
        leaf = bytearray(PAGE)
        header = content[100 : 100 + 8]
        count = struct.unpack_from(">H", header, 3)[0]
        leaf[:8] = header
        leaf[8 : 8 + 2 * count] = content[108 : 108 + 2 * count]
        leaf[200:] = content[200:PAGE]
    pages.append(bytes(leaf))
    below = len(pages)
    for level in range(levels):
        last = level == levels - 1
        page = interior(first if last else 0, below, list(range(children)))
        if last:
            pages[root - 1] = bytes(content[:first]) + page[first:]
        else:
            pages.append(page)
            below = len(pages)
    joined = bytearray(b"".join(pages))
    struct.pack_into(">I", joined, 28, len(pages))
    file.write_bytes(joined)


def test_a_schema_without_end_is_given_up(tmp_path: Path) -> None:
    """No program could read all rows that this file of a few pages claims to have."""
    build(tmp_path / "x")
    [file] = (tmp_path / "x").glob("*.records")
    entangle(file, 1, levels=9, children=200)
    with pytest.raises(DamagedIndexError):
        ms.Index.open(tmp_path / "x")


@pytest.mark.parametrize("where", FILTERS)
def test_records_without_end_are_asked_for_no_longer_than_there_are_documents(
    where: dict[str, Any], tmp_path: Path
) -> None:
    build(tmp_path / "x")
    [file] = (tmp_path / "x").glob("*.records")
    entangle(file, 2, levels=9, children=200)
    with ms.Index.open(tmp_path / "x") as index:
        try:
            hits = index.search(QUERY, where=where)
        except DamagedIndexError:
            return
        assert set(hits.ids) <= set(index.ids)


@pytest.mark.parametrize("where", FILTERS)
def test_a_record_is_no_longer_than_its_file(where: dict[str, Any], tmp_path: Path) -> None:
    """A file that claims to have 900 MB: its last page refers to itself."""
    build(tmp_path / "x")
    [file] = (tmp_path / "x").glob("*.records")
    size = 900_000_000
    head = bytes([8, 0]) + varint(2 * (size - 8) + 13)  # the record: no position, a text; then the text itself
    head = bytes([len(head)]) + head[1:]
    least = (PAGE - 12) * 32 // 255 - 23
    local = least + (size - least) % (PAGE - 4)
    local = local if local <= PAGE - 35 else least
    cell = varint(size) + varint(2) + (head + b'{"n":1,"text":"').ljust(local, b"x") + struct.pack(">I", 3)
    page = bytearray(PAGE)
    page[:10] = struct.pack(">BHHHBH", 13, 0, 1, PAGE - len(cell), 0, PAGE - len(cell))
    page[PAGE - len(cell) :] = cell
    content = bytearray(file.read_bytes()[:PAGE]) + page + struct.pack(">I", 3).ljust(PAGE, b"x")
    struct.pack_into(">I", content, 28, 3)
    file.write_bytes(content)
    with ms.Index.open(tmp_path / "x") as index, pytest.raises(DamagedIndexError, match=r"00000001\.records"):
        index.search(QUERY, where=where)

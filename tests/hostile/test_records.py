"""Files of records that somebody has forged for SQLite: no foreign schema reaches it, and it reads no other file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.filter_masks import SCHEMA

from .support import DIM, build, change_manifest
from .test_filters import PAGE, forge, varint

QUERY = np.ones((1, DIM))
FILTER = {"n": {"gte": 2}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The records of a small index."""
    build(tmp_path / "x")
    [file] = (tmp_path / "x").glob("*.records")
    return file


def reseal_records(file: Path) -> None:
    """Gives the manifest the checksum of the records as they are now."""
    crc = zlib.crc32(file.read_bytes())
    change_manifest(file.parent, lambda content: content["parts"][0].update(records_crc=crc))


def script(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.executescript(sql)


def rewrite_schema(sql: str) -> Callable[[sqlite3.Connection], object]:
    """Changes the list of tables itself, which SQLite allows on request."""
    return script(f"PRAGMA writable_schema = ON; {sql}")


def replace_file(sql: str) -> Callable[[sqlite3.Connection], object]:
    """The same rows, in a table that is made in another way."""
    rows = "CREATE TABLE old AS SELECT * FROM records; DROP TABLE records;"
    return script(f"{rows} {sql}; INSERT INTO records SELECT * FROM old; DROP TABLE old; VACUUM;")


SCHEMAS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "a view that never ends": script(
        "DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
        "SELECT x AS position, '{}' AS record FROM c"
    ),
    "a view of gigabytes": script(
        "DROP TABLE records; CREATE VIEW records AS SELECT 1 AS position, hex(zeroblob(400000000)) AS record"
    ),
    "a trigger": script("CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT load_extension('x'); END"),
    "a second table": script("CREATE TABLE more (x)"),
    "statistics": script("ANALYZE"),
    "an index": script("CREATE INDEX i ON records (record)"),
    "no rowid": replace_file(f"{SCHEMA} WITHOUT ROWID"),
    "other types": replace_file("CREATE TABLE records (position INTEGER PRIMARY KEY, record BLOB)"),
    "a generated column": script(
        "DROP TABLE records; CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT AS (hex(position)))"
    ),
    "a check of many numbers": replace_file(
        f"CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT CHECK (1 IN ({'1,' * 100_000}1)))"
    ),
    "a table of another module": rewrite_schema(
        "UPDATE sqlite_master SET rootpage = 0, sql = 'CREATE VIRTUAL TABLE records USING json_each'"
    ),
    "our text with more after it": rewrite_schema("UPDATE sqlite_master SET sql = sql || ' -- more'"),
    "the table twice": rewrite_schema(
        "INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master"
    ),
    "an empty schema": rewrite_schema("DELETE FROM sqlite_master"),
    "a number for a name": rewrite_schema("UPDATE sqlite_master SET name = 1"),
    "UTF-16": lambda connection: None,
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_that_is_not_ours_never_reaches_sqlite(name: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse one takes as much time and memory as its author likes."""
    if name == "UTF-16":
        file.unlink()
        with sqlite3.connect(file) as connection:
            connection.executescript(f"PRAGMA encoding = 'UTF-16'; {SCHEMA}")
        connection.close()
    forge(file.parent, SCHEMAS[name])
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("SQLite has opened it"))
    with pytest.raises(DamagedIndexError, match=f"{file.name} is not a file of records"):
        ms.Index.open(file.parent)


@pytest.mark.parametrize("size", [512, 1024, 65536])
def test_pages_of_other_sizes_are_honest(size: int, file: Path) -> None:
    """Another build of SQLite may write them."""
    forge(file.parent, script(f"PRAGMA page_size = {size}; VACUUM"))
    reseal_records(file)
    assert file.stat().st_size == 2 * size
    with ms.Index.open(file.parent) as index:
        assert set(index.search(QUERY, where={"n": {"gte": 4}}).ids) == {"d4", "d5"}
        index.verify()


def test_a_first_page_of_other_kinds(file: Path) -> None:
    content = file.read_bytes()
    for place, value in ((0, b"s"), (16, b"\0\3"), (56, b"\0\0\0\2"), (100, b"\5"), (103, b"\0\2"), (108, b"\xff\xff")):
        file.write_bytes(content[:place] + value + content[place + len(value) :])
        with pytest.raises(DamagedIndexError, match=file.name):
            ms.Index.open(file.parent)
    for size in (1, 15, 99, 109, 200):
        file.write_bytes(content[:size])
        with pytest.raises(DamagedIndexError, match=file.name):
            ms.Index.open(file.parent)


def share_pages(file: Path, documents: int, start: bytes, shared: int = 24) -> None:
    """Gives all documents one long record: each says that its rest is in the same pages, so the file stays small."""
    local = (PAGE - 12) * 32 // 255 - 23  # the bytes of it that are stored beside its position
    size = local + shared * (PAGE - 4) - 5
    head = bytes([5, 0]) + varint(2 * size + 13)  # of a row: its position, which is not stored here; a text
    payload = head + start.ljust(size - 2, b"x") + b'"}'
    content, end, places = bytearray(PAGE), PAGE, []
    for position in range(documents):
        cell = varint(len(payload)) + varint(position) + payload[:local] + struct.pack(">I", 3)
        end -= len(cell)
        content[end : end + len(cell)] = cell
        places.append(end)
    content[: 8 + 2 * documents] = struct.pack(f">BHHHB{documents}H", 13, 0, documents, end, 0, *places)
    pages = [file.read_bytes()[:PAGE], bytes(content)]
    for at in range(local, len(payload), PAGE - 4):
        following = len(pages) + 2 if at + PAGE - 4 < len(payload) else 0
        pages.append((struct.pack(">I", following) + payload[at : at + PAGE - 4]).ljust(PAGE, b"\0"))
    whole = bytearray(b"".join(pages))
    struct.pack_into(">I", whole, 28, len(pages))
    file.write_bytes(whole)
    reseal_records(file)


USES: dict[str, Callable[[ms.Index], Any]] = {
    "a filter": lambda index: index.search(QUERY, where=FILTER),
    "a filter that SQLite leaves to Python": lambda index: index.search(QUERY, where={'q"': {"exists": True}}),
    "the records of hits": lambda index: index.storage.snapshot.metadata([0, 2, 4]),
    "verify": lambda index: index.verify(),
    "compact": lambda index: index.compact(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("start", [b'{"n":1,"text":"', b'{"n":1,"text":"\\u0041'])
def test_records_that_share_pages_are_damage(use: str, start: bytes, file: Path) -> None:
    """Six documents of 100 KB in 110 KB. A million documents of 10 MB would take 10 MB as well, and hours to read."""
    share_pages(file, 6, start)
    with ms.Index.open(file.parent) as index, pytest.raises(DamagedIndexError, match=f"{file.name} can't be read"):
        USES[use](index)


def test_one_long_record_is_none(file: Path) -> None:
    """The same forgery for one document alone is an honest file."""
    share_pages(file, 1, b'{"n":1,"text":"')
    with ms.Index.open(file.parent) as index:
        assert index.search(QUERY, where={"n": 1}).ids == ["d0"]
        index.verify()


def test_a_record_that_is_asked_for_often_is_counted_once(file: Path) -> None:
    """Many queries may find the same document."""
    share_pages(file, 1, b'{"n":1,"text":"')
    with ms.Index.open(file.parent) as index:
        assert [one["n"] for one in index.storage.snapshot.metadata([0] * 10)] == [1] * 10


BESIDE = ("-journal", "-wal", "-shm")


def leave_behind(file: Path, mode: str) -> None:
    """What a killed writer leaves beside its file, which the next reader would put back into it: every n is 9."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.executescript(f"PRAGMA journal_mode = {mode}; PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
    if mode == "DELETE":
        filler = f"CREATE TABLE filler (x); INSERT INTO filler VALUES {'(zeroblob(9000)),' * 99}(0)"
        connection.executescript(f"BEGIN; UPDATE records SET record = '{{\"n\":9}}'; {filler}")
    else:
        connection.execute("UPDATE records SET record = '{\"n\":9}'")
    copies = {one: one.read_bytes() for one in file.parent.glob(f"{file.name}-*")}
    assert copies
    connection.close()
    for one, content in copies.items():
        one.write_bytes(content)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_journal_beside_it_is_left_alone(mode: str, file: Path, tmp_path: Path) -> None:
    """SQLite would write it into the file, remove it, and answer from it."""
    shutil.copy(file, tmp_path / "copy")
    leave_behind(tmp_path / "copy", mode)
    for one in tmp_path.glob("copy-*"):
        shutil.copy(one, file.with_name(file.name + one.name.removeprefix("copy")))
    before = {one: one.read_bytes() for one in file.parent.glob("*") if one.is_file()}
    with ms.Index.open(file.parent) as index:
        assert index.search(QUERY, where={"n": 9}).ids == []
        assert set(index.search(QUERY, where={"n": {"gte": 4}}).ids) == {"d4", "d5"}
        index.verify()
    assert {one: one.read_bytes() for one in file.parent.glob("*") if one.is_file()} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("kind", ["pipe", "link", "loop"])
@pytest.mark.parametrize("ending", BESIDE)
@pytest.mark.parametrize("changed", [False, True])
def test_pipes_and_links_in_place_of_journals(
    ending: str, kind: str, changed: bool, file: Path, tmp_path: Path
) -> None:
    """Beside the file that is read, and beside those that are written next: no waiting, nothing outside is touched."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    if changed:  # the header says that there is a write-ahead log
        content = bytearray(file.read_bytes())
        content[18:20] = b"\2\2"
        file.write_bytes(content)
        reseal_records(file)
    names = [file.name, f"{file.name}.tmp", *(f"{i:08d}.records{end}" for i in range(2, 9) for end in ("", ".tmp"))]
    for name in names:
        place = file.with_name(name + ending)
        if kind == "pipe":
            os.mkfifo(place)
        else:
            place.symlink_to(outside if kind == "link" else place)
    with ms.Index.open(file.parent) as index:
        assert set(index.search(QUERY, where={"n": {"gte": 4}}).ids) == {"d4", "d5"}
        index.add([QUERY], ["new"], metadata=[{"n": 100}])
        index.compact()
        assert index.search(QUERY, where={"n": 100}).ids == ["new"]
    assert outside.read_bytes() == b"mine"
    assert outside.is_file()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize(
    "name", ["a?mode=rwc&x=", "b#c", "100%41", "d;e", "f'g\"h", "i\\j", "k\nl", "\udcff\udcfe", "?", "//m"]
)
def test_a_folder_whose_name_means_something_in_an_address(name: str, tmp_path: Path) -> None:
    path = Path(f"{tmp_path}/{name}")
    build(path)
    with ms.Index.open(path) as index:
        assert set(index.search(QUERY, where={"n": {"gte": 4}}).ids) == {"d4", "d5"}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_does_not_choose_the_size_of_the_cache(file: Path) -> None:
    content = bytearray(file.read_bytes())
    struct.pack_into(">I", content, 48, 1 << 30)
    file.write_bytes(content)
    with ms.Index.open(file.parent) as index:
        records: Any = index.storage.snapshot.segments[0].metadata
        assert records._connection.execute("PRAGMA cache_size").fetchall() == [(-2000,)]

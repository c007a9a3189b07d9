"""Damaged files: an error or an unaffected answer; a wrong one only if `verify` reports it. Never a crash or hang."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from long_form import scaled
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import ENTRY, FIXED, HEADER_BYTES

from . import damage

PIECES = 4
HUGE = 2**64 - 1


@pytest.fixture(params=["str", "int"])
def original(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "original"
    damage.build(path, request.param, "float16" if request.param == "int" else "float32")
    return path


@pytest.mark.parametrize("piece", range(PIECES))
def test_flips_and_cuts(piece: int, original: Path, tmp_path: Path) -> None:
    cases = scaled(2000) // PIECES // 2
    first = cases * (2 * piece + (original / "manifest.json").read_text().count('"int"'))
    results = _run(original, tmp_path, first, first + cases)
    assert len(results) == cases
    counts = Counter(result for _, result in results)
    assert not {what: result for what, result in results if result not in ("error", "same", "reported")}
    assert counts["error"] > counts["reported"]


def test_a_flipped_bit_in_any_block_is_found_by_verify(original: Path, tmp_path: Path) -> None:
    """Not every damage is noticed earlier: checksums would take too long in a search."""
    content = (original / "00000001.segment").read_bytes()
    entries = [ENTRY.unpack_from(content, FIXED.size + i * ENTRY.size) for i in range(FIXED.unpack_from(content)[4])]
    for i, (_, _, offset, nbytes, *_) in enumerate(entries):
        for j, place in enumerate((offset, offset + nbytes // 2, offset + nbytes - 1)):

            def flip(content: bytearray, place: int = place) -> None:
                content[place] ^= 1

            damage.copy(original, tmp_path / f"{i} {j}", "00000001.segment", flip)
            with pytest.raises(DamagedIndexError, match="segment"):
                ms.Index.open(tmp_path / f"{i} {j}").verify()


# What a file may contain although its checksums are right.

Blocks = dict[str, list[Any]]


def _block(name: str, field: int, value: Any) -> Callable[[bytearray], None]:
    """Changes a field of a block's entry: 1 dtype, 2 offset, 3 nbytes, 4 columns."""

    def change(content: bytearray) -> None:
        for i in range(FIXED.unpack_from(content)[4]):
            entry = list(ENTRY.unpack_from(content, FIXED.size + i * ENTRY.size))
            if entry[0].rstrip(b"\0").decode() == name:
                entry[field] = value(entry[field]) if callable(value) else value
                ENTRY.pack_into(content, FIXED.size + i * ENTRY.size, *entry)

    return change


def _header(field: int, value: int) -> Callable[[bytearray], None]:
    """Changes a field of the header: 1 version, 2 header bytes, 3 file bytes, 4 blocks."""

    def change(content: bytearray) -> None:
        fields = list(FIXED.unpack_from(content))
        fields[field] = value
        FIXED.pack_into(content, 0, *fields)

    return change


def _values(name: str, place: int, value: Any) -> Callable[[bytearray], None]:
    """Changes a number in a block, and the block's checksum."""

    def change(content: bytearray) -> None:
        for i in range(FIXED.unpack_from(content)[4]):
            entry = list(ENTRY.unpack_from(content, FIXED.size + i * ENTRY.size))
            if entry[0].rstrip(b"\0").decode() == name:
                dtype, offset, nbytes = entry[1].rstrip(b"\0").decode(), entry[2], entry[3]
                array = np.frombuffer(bytes(content[offset : offset + nbytes]), dtype).copy()
                array[place] = value
                content[offset : offset + nbytes] = array.tobytes()
                entry[5] = zlib.crc32(array.tobytes())
                ENTRY.pack_into(content, FIXED.size + i * ENTRY.size, *entry)

    return change


SEGMENT = {
    f"{name} {text}": _block(name, field, value)
    for name in ("offsets", "scale", "codes", "rows", "ids.order")
    for text, field, value in [
        ("begins far away", 2, HUGE - 63),
        ("begins near 2^63", 2, 2**63),
        ("begins in the header", 2, 0),
        ("begins askew", 2, lambda offset: offset + 1),
        ("begins on another", 2, HEADER_BYTES),
        ("is endless", 3, HUGE),
        ("wraps around", 3, lambda nbytes: 2**64 - nbytes),
        ("is longer", 3, lambda nbytes: nbytes + 8),
        ("is shorter", 3, lambda nbytes: nbytes - 8),
        ("is gone", 3, 0),
        ("has no columns", 4, 0),
        ("has endless columns", 4, HUGE),
        ("has more columns", 4, lambda columns: columns + 1),
        ("is of objects", 1, b"|O"),
        ("is of nothing", 1, b""),
        ("is of doubles", 1, b"<f8"),
        ("has another name", 0, b"other"),
        ("has no name", 0, b"\xff\xfe"),
    ]
    if (name, text) not in {("offsets", "begins on another")}
} | {
    "many blocks": _header(4, 2**32 - 1),
    "no blocks": _header(4, 0),
    "one block more": _header(4, 10),
    "another header": _header(2, 64),
    "a file of 2^64 bytes": _header(3, HUGE),
    "version 2": _header(1, 2),
    "offsets begin at 1": _values("offsets", 0, 1),
    "offsets begin below 0": _values("offsets", 0, -8),
    "offsets descend": _values("offsets", 3, 1),
    "offsets leap": _values("offsets", 3, 2**62),
    "offsets end too far": _values("offsets", -1, 10**6),
    "offsets end too soon": _values("offsets", -1, 1),
    "order beyond": _values("ids.order", 0, 10**9),
    "order below": _values("ids.order", 0, -1),
    "order least": _values("ids.order", 0, -(2**63)),
}

STR_ONLY = {
    "ids end too far": _values("ids.ends", -1, 10**6),
    "ids end below": _values("ids.ends", 0, -1),
    "ids descend": _values("ids.ends", 2, 0),
    "ids leap": _values("ids.ends", 2, 2**62),
    "ids are no text": _values("ids.utf8", 0, 0xFF),
}

DELETED = {
    "beyond": _values("deleted", 0, 10),
    "below": _values("deleted", 0, -1),
    "most": _values("deleted", 0, 2**63 - 1),
    "endless": _block("deleted", 3, HUGE - 7),
    "of bytes": _block("deleted", 1, b"|i1"),
    "nameless": _block("deleted", 0, b""),
}


def test_crafted_files(original: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    parts = json.loads((original / "manifest.json").read_bytes())["parts"]
    texts = any("dö0".encode() in file.read_bytes() for file in original.glob("*.segment"))
    for name, changes in [
        (parts[0]["segment"], SEGMENT | (STR_ONLY if texts else {})),
        (parts[0]["deleted"], DELETED),
    ]:
        for what, change in changes.items():
            damage.copy(
                original, copies / f"{name} {what}", name, lambda content, change=change: _seal(content, change)
            )
    results = dict(_run(original, copies))
    assert len(results) == len(SEGMENT) + len(DELETED) + (len(STR_ONLY) if texts else 0)
    assert not {what: result for what, result in results.items() if result != "error"}


MANIFEST: dict[str, Any] = {
    "dim": [0, -1, 4, 6, 2**64, 1.5, "5", None, True, [5], 10**400],
    "store": ["float64", "", None, 3, "float16\0"],
    "similarity": ["euclid", None, 0],
    "id_type": ["float", 3],
    "generation": [-1, "1", None, 1.0],
    "next_file": [0, 1, -5, None, "9", 2.5],
    "uid": [None, 7],
    "parts": [None, 5, "parts", [None], [[]], [{}], {"0": 1}],
}
PART: dict[str, Any] = {
    "segment": [
        "../x.segment",
        "/etc/passwd",
        "..",
        ".",
        "",
        "lock",
        "manifest.json",
        "a\0b",
        None,
        3,
        "00000099.segment",
    ],
    "deleted": ["../x", "", 7, "00000001.segment", "00000098.deleted"],
    "records": ["../x", "", 7, "00000001.segment", "00000098.records"],
    "documents": [-1, 0, 9, 11, 2**63, 2**64, 10**30, "10", None, 10.0],
    "tokens": [-1, 0, 10**6, 2**64, "3", None],
    "records_crc": [-1, "0", None],
    "other": [1],
}


def test_crafted_manifests(original: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    content = json.loads((original / "manifest.json").read_bytes())
    contents = [{**content, key: value} for key, values in MANIFEST.items() for value in values]
    for key, values in PART.items():
        contents += [
            {**content, "parts": [{**content["parts"][0], key: value}, *content["parts"][1:]]} for value in values
        ]
    contents += [{**content, "parts": content["parts"] * 2}, {**content, "parts": content["parts"][:1] * 2}]
    optional = ("id_type", "generation")  # without them it is still a manifest
    contents += [
        {key: value for key, value in content.items() if key != gone} for gone in content if gone not in optional
    ]
    contents += [{**content, "version": value} for value in (0, "1", 5, 10**30)]
    texts = [_sealed(one) for one in contents]
    texts += [b"", b"null", b"[]", b"7", b"\xff\xfe{", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000]
    for i, text in enumerate(texts):
        damage.copy(original, copies / f"{i}", "manifest.json", lambda content, text=text: _set(content, text))
    results = dict(_run(original, copies))
    assert len(results) == len(texts)
    assert not {texts[int(what)][:2000]: result for what, result in results.items() if result != "error"}


def test_crafted_records(original: Path, tmp_path: Path) -> None:
    """Another database in place of ours, with an endless query, or without valid records."""
    import sqlite3

    ours = "CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)"
    endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i FROM n) SELECT i AS position, '1' AS record FROM n"
    scripts = {
        "endless": f"CREATE VIEW records AS {endless};",
        "none": "CREATE TABLE other (position INTEGER, record TEXT);",
        "nothing": "",
        "no JSON": ours + "; INSERT INTO records SELECT value, 'no JSON' FROM generate;",
        "bytes": ours + "; INSERT INTO records SELECT value, x'ff00' FROM generate;",
        "deep": ours + f"; INSERT INTO records SELECT value, '{'[' * 100_000}' FROM generate;",
    }
    name = json.loads((original / "manifest.json").read_bytes())["parts"][0]["records"]
    copies = tmp_path / "copies"
    copies.mkdir()
    for what, script in scripts.items():
        path = tmp_path / what
        connection = sqlite3.connect(path)
        numbers = (
            "(WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 9) SELECT * FROM n)"
        )
        connection.executescript(script.replace("generate", numbers))
        connection.commit()
        connection.close()
        text = path.read_bytes()
        damage.copy(original, copies / what, name, lambda content, text=text: _set(content, text))
    results = dict(_run(original, copies))
    assert results == dict.fromkeys(scripts, "error")


def _seal(content: bytearray, change: Callable[[bytearray], None]) -> None:
    """Changes a file of blocks, and corrects its header's checksum."""
    change(content)
    struct.pack_into("<I", content, HEADER_BYTES - 4, zlib.crc32(content[: HEADER_BYTES - 4]))


def _sealed(content: dict[str, Any]) -> bytes:
    """A manifest with its right checksum."""
    bare = {key: value for key, value in content.items() if key != "checksum"}
    checksum = zlib.crc32(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode())
    return json.dumps({**bare, **({"checksum": checksum} if "checksum" in content else {})}).encode()


def _set(content: bytearray, text: bytes) -> None:
    content[:] = text


def _run(original: Path, *arguments: object) -> list[tuple[str, str]]:
    """The result of each case, from a process that must not die."""
    source = os.path.dirname(os.path.dirname(ms.__file__))
    done = subprocess.run(
        [sys.executable, damage.__file__, os.fspath(original), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    results = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert not done.returncode, f"exit code {done.returncode} after {results[-1:]}: {done.stderr}"
    return results

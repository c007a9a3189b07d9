"""docs/format.md is followed to the letter: files written by hand can be opened, and blocks can be added."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import maxsieve as ms
from index.support import contents, eighths
from maxsieve.errors import DamagedIndexError

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
Blocks = list[tuple[str, str, int, bytes]]


def container(blocks: Blocks) -> bytes:
    """Section 3."""
    body, entries = bytearray(2048), b""
    for name, kind, columns, data in blocks:
        body += bytes(-len(body) % 64)
        checksum = zlib.crc32(data)
        entries += struct.pack("<24s8sQQQII", name.encode(), kind.encode(), len(body), len(data), columns, checksum, 0)
        body += data
    header = struct.pack("<8sIIQII", b"MAXSIEVE", 1, 2048, len(body), len(blocks), 0) + entries
    body[: len(header)] = header
    body[2044:2048] = struct.pack("<I", zlib.crc32(bytes(body[:2044])))
    return bytes(body)


def taken_apart(path: Path) -> Blocks:
    data = path.read_bytes()
    blocks = []
    for i in range(struct.unpack_from("<I", data, 24)[0]):
        name, kind, begin, length, columns, _, _ = struct.unpack_from("<24s8sQQQII", data, 32 + 64 * i)
        blocks.append((name.rstrip(b"\0").decode(), kind.rstrip(b"\0").decode(), columns, data[begin : begin + length]))
    return blocks


def write_manifest(folder: Path, **fields: Any) -> None:
    """Section 2."""
    content: dict[str, Any] = {"format": "maxsieve index", "version": 1, **fields}
    content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    (folder / "manifest.json").write_text(json.dumps(content))


def little(array: NDArray[Any], kind: str) -> bytes:
    return array.astype(kind).tobytes()


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize(("store", "kind"), [("float32", "<f4"), ("float16", "<f2")])
def test_an_index_written_by_hand(tmp_path: Path, text: bool, store: Any, kind: str) -> None:
    docs = eighths(5, 9, d=40)
    ids: list[Any] = [f"№{9 - i}" for i in range(9)] if text else [5, -3, 2**62, 0, 7, -(2**63), 1, 2, 3]
    wanted = ms.Index.build(docs, ids, store=store)
    (segment,) = wanted.storage.snapshot.segments
    blocks: Blocks = [("offsets", "<i8", 1, little(segment.offsets, "<i8"))]
    blocks += [(name, "<f4", 1, little(getattr(segment, name), "<f4")) for name in ("nu", "rho", "scale")]
    if text:
        spelled = [one.encode() for one in ids]
        blocks.append(("ids.utf8", "|u1", 1, b"".join(spelled)))
        blocks.append(("ids.ends", "<i8", 1, little(np.cumsum([len(one) for one in spelled]), "<i8")))
    else:
        blocks.append(("ids.int", "<i8", 1, little(np.array(ids), "<i8")))
    order = sorted(range(9), key=lambda i: ids[i].encode() if text else ids[i])
    blocks.append(("ids.order", "<i8", 1, little(np.array(order), "<i8")))
    blocks.append(("rows", kind, 40, little(segment.rows, kind)))
    blocks.append(("codes", "|i1", 64, little(segment.codes, "|i1")))
    (tmp_path / "00000003.segment").write_bytes(container(blocks))
    (tmp_path / "00000007.deleted").write_bytes(container([("deleted", "<i8", 1, struct.pack("<2q", 1, 8))]))
    database = sqlite3.connect(tmp_path / "00000003.records")
    database.execute("CREATE TABLE records (position INTEGER PRIMARY KEY, record TEXT NOT NULL)")
    database.execute('INSERT INTO records VALUES (4, \'{"by": ["hand"]}\')')
    database.commit()
    database.close()
    part = {
        "segment": "00000003.segment",
        "documents": 9,
        "tokens": int(segment.offsets[-1]),
        "deleted": "00000007.deleted",
        "records": "00000003.records",
        "records_crc": zlib.crc32((tmp_path / "00000003.records").read_bytes()),
    }
    write_manifest(
        tmp_path,
        dim=40,
        store=store,
        similarity="dot",
        uid="0123456789abcdef",
        id_type="str" if text else "int",
        generation=5,
        next_file=8,
        parts=[part],
    )
    index = ms.Index.open(tmp_path)
    index.verify()
    wanted.delete([ids[1], ids[8]])
    assert contents(index) == contents(wanted)
    assert [index.metadata(one) for one in index.ids] == [
        {"by": ["hand"]} if one == ids[4] else None for one in index.ids
    ]
    index.compact()
    assert contents(ms.Index.open(tmp_path)) == contents(wanted)


def test_a_block_of_a_later_maxsieve_is_ignored(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / "words", tmp_path / "x"))
    wanted = contents(ms.Index.open(folder))
    tier = bytes(range(256)) * 3
    for path in folder.glob("*.segment"):
        first, *others = taken_apart(path)
        path.write_bytes(
            container([first, ("codes.2bit", "|u1", 16, tier), *others, ("pooled.offsets", "<i8", 1, b"")])
        )
    index = ms.Index.open(folder)
    index.verify()
    assert contents(index) == wanted
    path = next(folder.glob("*.segment"))
    content = path.read_bytes().replace(tier, tier[::-1])
    with path.open("r+b") as file:  # Windows does not truncate a mapped file
        file.write(content)
    assert contents(ms.Index.open(folder)) == wanted
    with pytest.raises(DamagedIndexError, match=r"codes\.2bit.* checksum"):
        ms.Index.open(folder).verify()


def test_what_we_write_is_what_a_hand_would_write() -> None:
    for path in (*GOLDEN.glob("*/*.segment"), *GOLDEN.glob("*/*.deleted")):
        assert container(taken_apart(path)) == path.read_bytes()

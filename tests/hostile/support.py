"""Small indexes that an attacker has changed, with right checksums."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from maxsieve.storage.blocks import ENTRY, FIXED, HEADER_BYTES, BlockFile, header_crc, writing_blocks

DIM = 4


def build(path: Path, ids: list[Any] | None = None, *, metadata: bool = True, delete: bool = True) -> list[Any]:
    """An index of one segment with six documents, one of them empty; returns its ids."""
    rng = np.random.default_rng(0)
    docs = [rng.standard_normal((length, DIM)) for length in (2, 1, 3, 0, 1, 2)]
    ids = ids or [f"d{i}" for i in range(6)]
    index = ms.Index.build(docs, ids, path=path, metadata=[{"n": i} for i in range(6)] if metadata else None)
    if delete:
        index.delete([ids[1]])
    index.close()
    return [one for one in ids if not (delete and one == ids[1])]


def change_manifest(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the manifest, and corrects its checksum."""
    file = path / "manifest.json"
    content = json.loads(file.read_text())
    del content["checksum"]
    change(content)
    content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    file.write_text(json.dumps(content))


def change_block(file: Path, name: str, change: Callable[[np.ndarray], object]) -> None:
    """Changes numbers of a block in place, and corrects all checksums."""
    content = bytearray(file.read_bytes())
    for i in range(FIXED.unpack_from(content)[4]):
        place = FIXED.size + i * ENTRY.size
        entry = list(ENTRY.unpack_from(content, place))
        if entry[0].rstrip(b"\0").decode() == name:
            dtype, offset, nbytes, columns = entry[1].rstrip(b"\0").decode(), *entry[2:5]
            block = np.frombuffer(content, dtype, nbytes // np.dtype(dtype).itemsize, offset).reshape(-1, columns)
            change(block)
            entry[5] = zlib.crc32(content[offset : offset + nbytes])
            ENTRY.pack_into(content, place, *entry)
            break
    else:
        raise AssertionError(f"no block {name}")
    struct.pack_into("<I", content, HEADER_BYTES - 4, zlib.crc32(content[: HEADER_BYTES - 4]))
    file.unlink()  # it may be a link
    file.write_bytes(content)


def reseal_tiers(path: Path) -> None:
    """Makes the manifest refer to the current codebook, calibrations, centroids and lists."""

    def crc(name: str) -> int:
        with open(path / name, "rb") as file:
            return header_crc(file.read(HEADER_BYTES))

    def change(content: dict[str, Any]) -> None:
        for extra in (*content.get("extras", {}).values(), *content.get("codebooks", {}).values()):
            extra[1] = crc(extra[0])
        for part in content["parts"]:
            for kind in ("centroids", "lists"):
                if part.get(kind) is not None:
                    part[f"{kind}_crc"] = crc(part[kind])
        for extra in content.get("filters", ()):
            extra[1] = crc(extra[0])

    change_manifest(path, change)


def rewrite_blocks(file: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """Changes the blocks of a file, of any size and type, and writes them with right checksums."""
    old = BlockFile(file)
    blocks = {name: np.array(old.array(name, block.dtype, block.columns)) for name, block in old.blocks.items()}
    change(blocks)
    file.unlink()
    with writing_blocks(file) as writer:
        for name, block in blocks.items():
            writer.write(name, block.dtype.str, block.shape[1], [block])

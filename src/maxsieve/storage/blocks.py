"""Files of named blocks: the container of what the index writes. docs/format.md has it byte by byte.

A file is written once, under another name, and renamed when it is whole; after that it never changes. Readers map it
and check its header against its size before they touch a block. Blocks they don't know are none of their business, so
that a later version can add some.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import naming_os_errors
from maxsieve.errors import DamagedIndexError, MaxsieveError

MAGIC = b"MAXSIEVE"
VERSION = 1
ALIGN = 64
HEADER_BYTES = 2048
FIXED = struct.Struct("<8sIIQII")
ENTRY = struct.Struct("<24s8sQQQII")
MAX_BLOCKS = (HEADER_BYTES - FIXED.size - 4) // ENTRY.size
DTYPES = ("|i1", "|u1", "<i8", "<f2", "<f4")


class Block(NamedTuple):
    """Where a block lies and what it holds: rows of ``columns`` numbers."""

    dtype: str
    offset: int
    nbytes: int
    columns: int
    crc: int


class BlockWriter:
    """Writes a file of blocks under a temporary name; `commit` makes it durable and gives it its name.

    As a context it removes the unfinished file if something fails.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(path.name + ".tmp")
        self._file = open(self._temporary, "wb")  # noqa: SIM115
        self._blocks: dict[str, Block] = {}

    def __enter__(self) -> BlockWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with suppress(OSError):
                self._file.close()  # it may try to write what it could not write before
            with suppress(OSError):
                self._temporary.unlink()

    def write(self, name: str, dtype: str, columns: int, pieces: Iterable[NDArray[Any]]) -> None:
        """Writes a block, piece by piece, so that no more than a piece need be in memory."""
        with naming_os_errors(self._temporary):
            offset = max(HEADER_BYTES, -(-self._file.tell() // ALIGN) * ALIGN)
            self._file.write(bytes(offset - self._file.tell()))
            crc = 0
            for piece in pieces:
                data = np.ascontiguousarray(piece, np.dtype(dtype)).data.cast("B") if piece.size else b""
                crc = zlib.crc32(data, crc)
                self._file.write(data)
            self._blocks[name] = Block(dtype, offset, self._file.tell() - offset, columns, crc)

    def commit(self) -> None:
        """Writes the header, flushes everything to the disk and renames."""
        with naming_os_errors(self._temporary):
            size = self._file.tell()
            self._file.seek(0)
            self._file.write(pack_header(self._blocks, size))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        os.replace(self._temporary, self._path)


def pack_header(blocks: dict[str, Block], file_bytes: int) -> bytes:
    """The first `HEADER_BYTES` of a file."""
    fixed = FIXED.pack(MAGIC, VERSION, HEADER_BYTES, file_bytes, len(blocks), 0)
    entries = b"".join(
        ENTRY.pack(name.encode("ascii"), b.dtype.encode("ascii"), b.offset, b.nbytes, b.columns, b.crc, 0)
        for name, b in blocks.items()
    )
    body = (fixed + entries).ljust(HEADER_BYTES - 4, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


class BlockFile:
    """A mapped file of blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming_os_errors(path), open(path, "rb") as file:
            self.nbytes = os.fstat(file.fileno()).st_size
            if self.nbytes < HEADER_BYTES:
                raise self._damaged(f"has {self.nbytes} bytes, fewer than a header")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._map, np.uint8)
        self.blocks = self._read_header()

    def array(self, name: str, dtype: str, columns: int | None = None) -> NDArray[Any]:
        """A block as an array over the mapped file: flat for one column, else [rows, columns]."""
        block = self.blocks.get(name)
        if block is None:
            raise self._damaged(f"has no block {name!r}")
        if block.dtype != dtype or block.columns != (columns or 1):
            raise self._damaged(f"block {name!r} holds {block.columns} x {block.dtype}, not {columns or 1} x {dtype}")
        flat = self._bytes[block.offset : block.offset + block.nbytes].view(np.dtype(dtype))
        return flat if columns is None else flat.reshape(-1, columns)

    def verify(self, advance: Callable[[int], None]) -> None:
        """Reads every block and compares its checksum."""
        for name, block in self.blocks.items():
            crc = 0
            for start in range(block.offset, block.offset + block.nbytes, 1 << 24):
                piece = self._bytes[start : min(start + (1 << 24), block.offset + block.nbytes)]
                crc = zlib.crc32(piece.data, crc)
                advance(len(piece))
            if crc != block.crc:
                raise self._damaged(f"block {name!r} does not have its checksum")

    def _read_header(self) -> dict[str, Block]:
        header = bytes(self._bytes[:HEADER_BYTES])
        magic, version, header_bytes, file_bytes, count, _ = FIXED.unpack_from(header)
        if magic != MAGIC:
            raise self._damaged("is no file of maxsieve")
        if version > VERSION:
            raise MaxsieveError(f"{self.path} has format version {version}; this maxsieve reads up to {VERSION}")
        if zlib.crc32(header[:-4]) != struct.unpack("<I", header[-4:])[0]:
            raise self._damaged("header does not have its checksum")
        if header_bytes != HEADER_BYTES or count > MAX_BLOCKS:
            raise self._damaged("header makes no sense")
        if file_bytes != self.nbytes:
            raise self._damaged(f"has {self.nbytes} bytes where its header says {file_bytes}")
        blocks: dict[str, Block] = {}
        for i in range(count):
            raw_name, raw_dtype, offset, nbytes, columns, crc, _ = ENTRY.unpack_from(
                header, FIXED.size + i * ENTRY.size
            )
            name, dtype = (raw.rstrip(b"\0").decode("ascii", "replace") for raw in (raw_name, raw_dtype))
            if dtype not in DTYPES or name in blocks or columns < 1:
                raise self._damaged(f"block {name!r} makes no sense")
            if offset % ALIGN or offset < HEADER_BYTES or offset + nbytes > self.nbytes:
                raise self._damaged(f"block {name!r} lies outside the file")
            if nbytes % (columns * np.dtype(dtype).itemsize):
                raise self._damaged(f"block {name!r} has a broken row")
            blocks[name] = Block(dtype, offset, nbytes, columns, crc)
        ordered = sorted(blocks.values(), key=lambda block: (block.offset, block.nbytes))
        if any(before.offset + before.nbytes > after.offset for before, after in pairwise(ordered)):
            raise self._damaged("has blocks that overlap")
        return blocks

    def _damaged(self, problem: str) -> DamagedIndexError:
        return DamagedIndexError(f"{self.path} {problem}")

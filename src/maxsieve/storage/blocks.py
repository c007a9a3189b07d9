"""Files of named blocks: the container of most files of an index. docs/format.md describes every byte.

A file is written under a temporary name, and renamed when it is complete; after that it never changes. Readers map it,
and check its header against its size before they read a block. They ignore blocks that they do not know, so that a
later version can add some.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import naming_os_errors, open_regular, opening_own_file, replacing_as
from maxsieve.common.handles import advise, fetch
from maxsieve.errors import DamagedIndexError, MaxsieveError

MAGIC = b"MAXSIEVE"
VERSION = 1
ALIGN = 64
HEADER_BYTES = 2048
FIXED = struct.Struct("<8sIIQII")
ENTRY = struct.Struct("<24s8sQQQII")
MAX_BLOCKS = (HEADER_BYTES - FIXED.size - 4) // ENTRY.size
DTYPES = ("|i1", "|u1", "<u2", "<u4", "<u8", "<i8", "<f2", "<f4")


class Block(NamedTuple):
    """The position and the type of a block: rows of ``columns`` numbers."""

    dtype: str
    offset: int
    nbytes: int
    columns: int
    crc: int


@contextmanager
def writing_blocks(path: Path) -> Iterator[BlockWriter]:
    """Writes a file of blocks, which gets its name when it is complete and on disk. A failure leaves no file."""
    with replacing_as(path.with_name(path.name + ".tmp"), path) as file:
        writer = BlockWriter(file)
        yield writer
        writer.write_header()


class BlockWriter:
    """Writes blocks one after another, and the header at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._blocks: dict[str, Block] = {}
        self.crc = 0
        """The checksum of the header, once it is written. It covers the checksums of the blocks, so the whole file."""

    def write(self, name: str, dtype: str, columns: int, pieces: Iterable[NDArray[Any]]) -> None:
        """Writes a block piece by piece, so that only one piece must be in memory."""
        offset = max(HEADER_BYTES, -(-self._file.tell() // ALIGN) * ALIGN)
        self._file.write(bytes(offset - self._file.tell()))
        crc = 0
        for piece in pieces:
            data = np.ascontiguousarray(piece, np.dtype(dtype)).data.cast("B") if piece.size else b""
            crc = zlib.crc32(data, crc)
            self._file.write(data)
        self._blocks[name] = Block(dtype, offset, self._file.tell() - offset, columns, crc)

    def write_header(self) -> None:
        """Writes the header."""
        size = self._file.tell()
        self._file.seek(0)
        header = pack_header(self._blocks, size)
        self._file.write(header)
        self.crc = header_crc(header)


def pack_header(blocks: dict[str, Block], file_bytes: int) -> bytes:
    """The first `HEADER_BYTES` of a file."""
    fixed = FIXED.pack(MAGIC, VERSION, HEADER_BYTES, file_bytes, len(blocks), 0)
    entries = b"".join(
        ENTRY.pack(name.encode("ascii"), b.dtype.encode("ascii"), b.offset, b.nbytes, b.columns, b.crc, 0)
        for name, b in blocks.items()
    )
    body = (fixed + entries).ljust(HEADER_BYTES - 4, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


def header_crc(header: bytes) -> int:
    """The checksum at the end of a header."""
    (crc,) = struct.unpack("<I", header[HEADER_BYTES - 4 : HEADER_BYTES])
    return int(crc)


class BlockFile:
    """A mapped file of blocks. With ``crc``, the file must have that checksum: another valid file is refused.

    ``at_most`` limits the bytes of files that are read completely when an index is opened. If a file is ``scattered``,
    nothing around what is touched is read, from the header on: by default a system may read megabytes. Later,
    ``scattered`` is how blocks will be read next, by the last call of `expect`.
    """

    def __init__(
        self, path: Path, crc: int | None = None, *, at_most: int | None = None, scattered: bool = False
    ) -> None:
        self.path = path
        with opening_own_file(path):
            file = open_regular(path)
        with file, naming_os_errors(path):
            status = os.fstat(file.fileno())
            self.nbytes, self._place = status.st_size, (status.st_dev, status.st_ino)
            if self.nbytes < HEADER_BYTES:
                raise self._damaged(f"has {self.nbytes} bytes, fewer than a header")
            if at_most is not None and self.nbytes > at_most:
                raise self._damaged(f"is larger than {at_most} bytes, the most that it can have")
            try:  # the mapping holds the file open: its size() is the file's size at that moment
                self._map = mmap.mmap(file.fileno(), self.nbytes, access=mmap.ACCESS_READ)
            except ValueError:
                raise self._damaged("was truncated while it was opened") from None
        self._bytes = np.frombuffer(self._map, np.uint8)
        self.scattered = scattered
        if scattered:
            advise(self._map, 0, self.nbytes, scattered=True)
        self.blocks = self._read_header()
        self.crc = header_crc(bytes(self._bytes[:HEADER_BYTES]))
        if crc is not None and self.crc != crc:
            raise self._damaged("is not the file that the manifest names")

    def in_place(self) -> bool:
        """Whether its name still refers to this file, and not to another: somebody may have restored a backup."""
        try:
            status = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._place

    def check(self) -> None:
        """Raises an error if the file's size has changed: reading a missing part would end the process (SIGBUS)."""
        if (size := self._map.size()) != self.nbytes:
            raise self._damaged(f"has {size} bytes now; it had {self.nbytes} when it was opened")

    def expect(self, names: Iterable[str], *, scattered: bool) -> None:
        """Tells the system how blocks will be read next: a few rows at random places, or many in order.

        Reading ahead makes the second case fast. In the first case it fills the memory with rows that are not needed.
        """
        for block in self._some(names):
            start = -(-block.offset // mmap.PAGESIZE) * mmap.PAGESIZE  # the page before has other blocks, too
            if start < (end := block.offset + block.nbytes):
                advise(self._map, start, end - start, scattered=scattered)
        self.scattered = scattered

    def fetch(self, names: Iterable[str]) -> None:
        """Asks the system for whole blocks, which are read next."""
        for block in self._some(names):
            start = block.offset // mmap.PAGESIZE * mmap.PAGESIZE
            if size := block.offset + block.nbytes - start:
                fetch(self._map, start, size)

    def _some(self, names: Iterable[str]) -> list[Block]:
        return [self.blocks[name] for name in names if name in self.blocks]

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
            self.check()
            crc = 0
            for start in range(block.offset, block.offset + block.nbytes, 1 << 24):
                piece = self._bytes[start : min(start + (1 << 24), block.offset + block.nbytes)]
                crc = zlib.crc32(piece.data, crc)
                advance(len(piece))
            if crc != block.crc:
                raise self._damaged(f"block {name!r} has a wrong checksum")

    def _read_header(self) -> dict[str, Block]:
        header = bytes(self._bytes[:HEADER_BYTES])
        magic, version, header_bytes, file_bytes, count, _ = FIXED.unpack_from(header)
        if magic != MAGIC:
            raise self._damaged("is not a file of maxsieve")
        if version > VERSION:
            raise MaxsieveError(f"{self.path} has format version {version}; this maxsieve reads up to {VERSION}")
        if zlib.crc32(header[:-4]) != header_crc(header):
            raise self._damaged("header has a wrong checksum")
        if header_bytes != HEADER_BYTES or count > MAX_BLOCKS:
            raise self._damaged("header is invalid")
        if file_bytes != self.nbytes:
            raise self._damaged(f"has {self.nbytes} bytes where its header says {file_bytes}")
        blocks: dict[str, Block] = {}
        for i in range(count):
            raw_name, raw_dtype, offset, nbytes, columns, crc, _ = ENTRY.unpack_from(
                header, FIXED.size + i * ENTRY.size
            )
            name, dtype = (raw.rstrip(b"\0").decode("ascii", "replace") for raw in (raw_name, raw_dtype))
            if dtype not in DTYPES or name in blocks or columns < 1:
                raise self._damaged(f"block {name!r} is invalid")
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

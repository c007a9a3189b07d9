"""``.npz``: a zip archive of arrays. Arrays that are not compressed are memory-mapped."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import PathLike, open_regular, replacing
from maxsieve.exchange.files import Names, map_file, named_vectors, naming_content_errors
from maxsieve.exchange.header import Header, map_array, read_header, write_header
from maxsieve.exchange.sidecars import given_ids, given_lengths
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.exchange.write_source import Writable, write_source
from maxsieve.ids import Id

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, NotImplementedError, RuntimeError, OverflowError),
)
"""What `zipfile` raises for an archive that is damaged, encrypted or compressed by an unknown method."""

LOCAL_HEADER = struct.Struct("<26xHH")
ALIGNMENT = 64
ZIP64_EXTRA = 20
PADDING = 0xD935
"""The tag of padding in a zip archive's extra field, known from Android's zipalign."""


def read_npz(path: PathLike, *, lengths: Any = None, ids: Any = None, names: Names | None = None) -> TokenVectors:
    """The token vectors of an ``.npz`` file.

    Rows of an uncompressed archive (`numpy.savez`, `write_npz`) are memory-mapped if they are aligned to their type's
    size, as `write_npz` aligns them; their checksum is not verified then. Otherwise they are copied.

    lengths, ids
        values to use instead of those in the file.
    names
        names of the arrays of rows, lengths and ids; by default the first of ``rows``, ``doc_tokens``, ``embeddings``,
        ``vectors``, of ``lengths``, ``doclens``, ``doc_lengths`` and of ``ids``, ``doc_ids``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez_compressed(f"{folder}/it.npz", doc_tokens=np.eye(3), doclens=[1, 2], doc_ids=["a", "b"])
    ...     read_npz(f"{folder}/it.npz").ids
    ['a', 'b']
    """
    lengths, ids = given_lengths(lengths), given_ids(ids)
    with (
        open_regular(path, follow_links=True) as file,
        naming_content_errors(path, *DAMAGED),
        zipfile.ZipFile(file) as archive,
    ):
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return named_vectors(members, names, lengths, ids, lambda name: _load(archive, file, path, members[name]))


def write_npz(vectors: Writable, path: PathLike) -> None:
    """Writes ``rows``, ``lengths`` and ``ids`` uncompressed and aligned, an index document by document.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(TokenVectors(np.eye(3), [1, 2]), f"{folder}/it.npz")
    ...     sorted(np.load(f"{folder}/it.npz"))
    ['lengths', 'rows']
    """
    source = write_source(vectors)
    with (
        naming_content_errors(path),
        replacing(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        ids = None if source.ids is None else _id_array(source.ids)
        with _storing(archive, file, "rows", source.dtype, (source.tokens, source.dim)) as member:
            lengths = source.put(member.write)
        for name, array in (("lengths", lengths), ("ids", ids)):
            if array is not None:
                little = array.astype(array.dtype.newbyteorder("<"), copy=False)
                with _storing(archive, file, name, little.dtype, little.shape) as member:
                    member.write(little.tobytes())


def _load(archive: zipfile.ZipFile, file: BinaryIO, path: PathLike, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array of an archive: memory-mapped if possible, otherwise read into memory and checked."""
    try:
        with archive.open(info) as member:
            header = read_header(cast(BinaryIO, member))
            if header.nbytes + header.data_bytes != info.file_size:
                raise ValueError(
                    f"its header announces {header.data_bytes} bytes of numbers, which does not match its size"
                )
            if info.compress_type != zipfile.ZIP_STORED:
                return _unpacked(member, header)
        file.seek(info.header_offset)
        name_bytes, extra_bytes = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))  # already checked by `open`
        start = info.header_offset + LOCAL_HEADER.size + name_bytes + extra_bytes
        return map_array(map_file(path), header, start + header.nbytes)
    except ValueError as problem:
        raise ValueError(f"array {info.filename!r}: {problem}") from None


def _unpacked(member: Any, header: Header) -> NDArray[Any]:
    data = bytearray(header.data_bytes)
    view, filled = memoryview(data), 0
    while filled < len(data) and (got := member.readinto(view[filled:])):
        filled += got
    if filled < len(data) or member.read(1):  # the last read compares the checksum
        raise ValueError("the archive is truncated")
    flat = np.frombuffer(data, header.dtype)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


@contextmanager
def _storing(
    archive: zipfile.ZipFile, file: BinaryIO, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[BinaryIO]:
    """A member for one array, aligned to 64 bytes. So are the numbers, since NumPy's header has a multiple of 64."""
    info = zipfile.ZipInfo(f"{name}.npy")
    before = file.tell() + LOCAL_HEADER.size + len(info.filename) + ZIP64_EXTRA
    padding = -(before + 4) % ALIGNMENT
    info.extra = struct.pack("<HH", PADDING, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as member:
        write_header(cast(BinaryIO, member), dtype, shape)
        yield cast(BinaryIO, member)


def _id_array(ids: list[Id]) -> NDArray[Any]:
    array = np.array(ids) if ids else np.zeros(0, np.int64)
    for doc_id, kept in zip(ids, array.tolist(), strict=True):
        if doc_id != kept:
            raise ValueError(f"id {doc_id!r} ends in a null character, which an array of str drops: use another format")
    return array

"""The header of an array in NumPy's format, read without trusting it. Object arrays, which are pickles, are refused."""

from __future__ import annotations

import math
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from maxsieve.common.files import PathLike, open_regular
from maxsieve.exchange.files import array_at, map_file, naming_content_errors

READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


class Header(NamedTuple):
    """The header before the numbers, and its size in bytes."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    nbytes: int

    @property
    def data_bytes(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: BinaryIO) -> Header:
    """The header at the beginning of a file."""
    start = file.tell()
    if file.read(6) != npy_format.MAGIC_PREFIX:
        raise ValueError("this is not an array in NumPy's format: its first bytes are not \\x93NUMPY")
    file.seek(start)
    version = npy_format.read_magic(file)
    if version not in READERS:
        raise ValueError(
            f"version {version[0]}.{version[1]} of NumPy's format is only for records, not for plain numbers"
        )
    try:
        shape, fortran, dtype = READERS[version](file)
    except Exception as problem:  # a damaged header may fail anywhere in Python's own parser
        raise ValueError(f"the header is damaged: {str(problem) or type(problem).__name__}") from None
    if dtype.hasobject:
        raise ValueError("this contains Python objects, which are a pickle and never loaded: save plain numbers or str")
    if dtype.kind == "V":
        hint = "; bfloat16 is lost in this format: use .safetensors" if dtype.itemsize == 2 else ""
        raise ValueError(f"dtype {dtype} is not a plain number{hint}")
    return Header(shape, fortran, dtype, file.tell() - start)


def write_header(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """The header of a C-ordered array."""
    if dtype.kind == "V":
        raise ValueError(f"NumPy's format can't hold {dtype.name}: write .safetensors, or the rows as float32")
    description = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, description)


def load_array(path: PathLike) -> NDArray[Any]:
    """The array of a ``.npy`` file, mapped."""
    with naming_content_errors(path, EOFError):
        with open_regular(path, follow_links=True) as file:
            header = read_header(file)
        return map_array(map_file(path), header, header.nbytes)


def map_array(data: Any, header: Header, start: int) -> NDArray[Any]:
    """The array whose numbers begin at ``start`` of mapped bytes."""
    return array_at(data, header.dtype, header.shape, start, start + header.data_bytes, fortran=header.fortran)

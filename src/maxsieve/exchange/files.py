"""Helpers for all formats: memory-mapped files, errors that name the file, names of arrays, bfloat16 as a NumPy type.

bfloat16 is a NumPy type if ml_dtypes is installed; otherwise it becomes float32, which represents every bfloat16.
"""

from __future__ import annotations

import importlib
import math
import mmap
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import PathLike, open_regular
from maxsieve.exchange.vectors import TokenVectors

Mapped: TypeAlias = mmap.mmap | bytes


@contextmanager
def naming_content_errors(path: PathLike, *also: type[Exception]) -> Iterator[None]:
    """Errors about the contents of a file say which file it is; errors of ``also`` become `ValueError`.

    >>> with naming_content_errors("a.npy"):
    ...     raise ValueError("lengths[0] is negative")
    Traceback (most recent call last):
    ValueError: a.npy: lengths[0] is negative
    """
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError, *also)
    try:
        yield
    except FileNotFoundError:
        raise
    except kinds as problem:
        text = str(problem) or type(problem).__name__
        kind = TypeError if isinstance(problem, TypeError) else ValueError
        raise kind(text if text.startswith(os.fspath(path)) else f"{os.fspath(path)}: {text}") from problem


def map_file(path: PathLike) -> Mapped:
    """A file's bytes, memory-mapped: nothing is read until it is accessed."""
    with open_regular(path, follow_links=True) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def array_at(
    data: Mapped, dtype: np.dtype[Any], shape: tuple[int, ...], start: int, end: int, *, fortran: bool = False
) -> NDArray[Any]:
    """The array that fills the bytes from start to end, without copying; an error if it does not fit there.

    >>> array_at(b"head" + np.arange(6, dtype="<i2").tobytes(), np.dtype("<i2"), (2, 3), 4, 16).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if any(size < 0 for size in shape):
        raise ValueError(f"the shape {shape} is negative")
    count = math.prod(shape)
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"the file is truncated: it has {len(data)} bytes, {end} are expected")
    if count * dtype.itemsize != end - start:
        raise ValueError(f"{dtype} of shape {shape} needs {count * dtype.itemsize} bytes, but there are {end - start}")
    flat = np.frombuffer(data, dtype, count, start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def bfloat16_type() -> np.dtype[Any] | None:
    """NumPy's bfloat16, if ml_dtypes is installed."""
    try:
        dtype: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return dtype


def bfloat16_rows(bits: NDArray[np.uint16]) -> NDArray[Any]:
    """16-bit patterns as bfloat16 without copying, or as a float32 copy.

    >>> bfloat16_rows(np.array([[0x3F80, 0xC000]], np.uint16)).astype(float).tolist()
    [[1.0, -2.0]]
    """
    if (dtype := bfloat16_type()) is not None and bits.dtype.isnative:
        return bits.view(dtype)
    wide = np.empty(bits.shape, np.uint32)
    np.left_shift(bits, 16, out=wide, dtype=np.uint32)
    return wide.view(np.float32)


Names: TypeAlias = tuple[str, str | None, str | None]

ROWS = ("rows", "doc_tokens", "embeddings", "vectors")
LENGTHS = ("lengths", "doclens", "doc_lengths")
IDS = ("ids", "doc_ids")


def choose(found: Collection[str], names: Names | None) -> Names:
    """The names of rows, lengths and ids among the arrays of a file; None for an array that is missing.

    >>> choose(["doc_ids", "doc_tokens", "query"], None)
    ('doc_tokens', None, 'doc_ids')
    """
    if names is not None:
        for name in names:
            if name is not None and name not in found:
                raise ValueError(f"there is no array {name!r}, only {_listed(found)}")
        return names
    rows = _first(ROWS, found)
    if rows is None:
        raise ValueError(f"there is no array called {' or '.join(ROWS)}, only {_listed(found)}: give names=")
    return rows, _first(LENGTHS, found), _first(IDS, found)


def named_vectors(
    found: Collection[str], names: Names | None, lengths: Any, ids: Any, load: Callable[[str], Any]
) -> TokenVectors:
    """The token vectors of a file of several arrays; its lengths and ids are loaded unless they are given."""
    rows, lengths_name, ids_name = choose(found, names)
    if lengths is None:
        if lengths_name is None:
            raise ValueError(f"there is no array called {' or '.join(LENGTHS)}, only {_listed(found)}: give lengths=")
        lengths = load(lengths_name)
    if ids is None and ids_name is not None:
        ids = load(ids_name)
    return TokenVectors(load(rows), lengths, ids)


def _first(wanted: Collection[str], found: Collection[str]) -> str | None:
    return next((name for name in wanted if name in found), None)


def _listed(found: Collection[str]) -> str:
    return ", ".join(map(repr, sorted(found))) or "none"

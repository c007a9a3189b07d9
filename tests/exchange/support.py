"""Token vectors to write to files, and checks that they came back, and that they are in a mapped file."""

from __future__ import annotations

import io
import mmap
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectorChunks, TokenVectors

DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "bfloat16": ml_dtypes.bfloat16}
IDS = {
    "no ids": lambda n: None,
    "str": lambda n: [f"dök {i} 文書 \U0001f600" for i in range(n)],
    "int": lambda n: [(-1) ** i * (2**62 + i) for i in range(n)],
}
NAMES = {
    "npy": "it.npy",
    "npz": "it.npz",
    "safetensors": "it.safetensors",
    "arrow": "it.arrow",
    "feather": "it.feather",
    "parquet": "it.parquet",
    "folder": "it",
}
NO_BFLOAT16 = ("npy", "npz", "arrow", "feather", "parquet", "folder")
LENGTHS = [2, 0, 3, 1, 0, 0, 4]


def made(lengths: Any = LENGTHS, d: int = 5, dtype: Any = np.float32, ids: str = "str", seed: int = 0) -> TokenVectors:
    """Random rows. The first number of each is its position, so that a wrong order is noticed."""
    rows = np.random.default_rng(seed).normal(size=(sum(lengths), d))
    rows[:, 0] = np.arange(len(rows)) % 256
    return TokenVectors(rows.astype(dtype), np.array(lengths, np.int64), IDS[ids](len(lengths)))


def same(one: TokenVectors, other: TokenVectors) -> None:
    """The same bits, types, lengths and ids."""
    assert one.rows.dtype == other.rows.dtype
    assert one.rows.shape == other.rows.shape
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.lengths.dtype == other.lengths.dtype == np.int64
    assert one.lengths.tolist() == other.lengths.tolist()
    assert one.ids == other.ids
    assert [type(each) for each in one.ids or []] == [type(each) for each in other.ids or []]


def chunked(vectors: TokenVectors, *cuts: int) -> TokenVectorChunks:
    """The same in pieces. Pieces end before these documents."""
    ends = np.concatenate([[0], np.cumsum(vectors.lengths)])
    bounds = [0, *cuts, len(vectors)]
    pieces = [TokenVectors(vectors.rows[ends[a] : ends[b]], vectors.lengths[a:b]) for a, b in pairwise(bounds)]
    return TokenVectorChunks(lambda: iter(pieces), vectors.ids, "pieces")


def owner(array: Any) -> Any:
    """The owner of an array's memory."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def is_mapped(array: np.ndarray[Any, Any]) -> bool:
    """True if a NumPy array is in a file that Python has mapped."""
    found = owner(array)
    return isinstance(found.obj if isinstance(found, memoryview) else found, mmap.mmap)


def maps_of(path: Path) -> list[tuple[int, int]]:
    """The addresses at which this process has a file mapped."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not show what is mapped")
    lines = [line for line in maps.read_text().splitlines() if line.endswith(str(path))]
    return [tuple(int(each, 16) for each in line.split()[0].split("-")) for line in lines]  # type: ignore[misc]


def lies_in(array: np.ndarray[Any, Any], path: Path) -> bool:
    """True if the address of an array is in a mapping of that file, made by any library."""
    address = array.__array_interface__["data"][0]
    return any(first <= address and address + array.nbytes <= last for first, last in maps_of(path))


def refused(path: Path, words: str, **options: Any) -> None:
    """Reading all and reading in pieces both raise an error with these words and the file's name."""
    for use in (lambda: exchange.read(path, **options), lambda: list(exchange.stream(path, **options).documents())):
        with pytest.raises((ValueError, TypeError), match=words) as caught:
            use()
        assert str(path) in str(caught.value)
        assert " " in str(caught.value)


def npy_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()

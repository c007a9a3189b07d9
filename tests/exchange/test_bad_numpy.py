"""Bad NumPy files: an error that names the file and says what is wrong."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from maxsieve import exchange

from .support import npy_bytes, refused

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


def savez(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)


def pickled(path: Path) -> None:
    np.save(path, np.array([np.eye(2), None], object), allow_pickle=True)


def raw(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


def npz_bytes(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


NUMPY: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "npy: objects": ("it.npy", pickled, "pickle"),
    "npy: a bare pickle": ("it.npy", raw(pickle.dumps(ROWS)), "NumPy's format"),
    "npy: an npz": ("it.npy", raw(npz_bytes(rows=ROWS)), "NumPy's format"),
    "npy: empty": ("it.npy", raw(b""), "NumPy's format"),
    "npy: one dimension": ("it.npy", raw(npy_bytes(ROWS.ravel())), r"\(24,\)"),
    "npy: three dimensions": ("it.npy", raw(npy_bytes(ROWS[None])), r"\(1, 6, 4\)"),
    "npy: whole numbers": ("it.npy", raw(npy_bytes(ROWS.astype(int))), "int64"),
    "npy: truncated": ("it.npy", raw(npy_bytes(ROWS)[:-1]), r"\b223\b.*\b224\b"),
    "npy: truncated header": ("it.npy", raw(npy_bytes(ROWS)[:40]), "header"),
    "npy: bfloat16": ("it.npy", raw(npy_bytes(ROWS.astype(ml_dtypes.bfloat16))), "bfloat16"),
    "npy: records": ("it.npy", raw(npy_bytes(np.zeros(3, "f4,i8"))), "not a plain number"),
    "npz: objects": (
        "it.npz",
        savez(rows=np.array([np.eye(2), None], object), lengths=[1]),
        r"'rows\.npy'.*pickle",
    ),
    "npz: object ids": (
        "it.npz",
        savez(rows=ROWS, lengths=[6], ids=np.array(["a"], object)),
        r"'ids\.npy'.*pickle",
    ),
    "npz: no rows": ("it.npz", savez(queries=ROWS), "rows .*only 'queries'"),
    "npz: no lengths": ("it.npz", savez(rows=ROWS), "lengths .*only 'rows'"),
    "npz: wrong sum": ("it.npz", savez(rows=ROWS, lengths=[2, 2]), r"lengths\b.*\b4\b.*\b6\b"),
    "npz: wrong rank": ("it.npz", savez(rows=ROWS[0], lengths=[4]), r"\(4,\)"),
    "npz: float lengths": ("it.npz", savez(rows=ROWS, lengths=[6.0]), "whole numbers"),
    "npz: few ids": ("it.npz", savez(rows=ROWS, lengths=[6], ids=["a", "b"]), "2 ids"),
    "npz: float ids": ("it.npz", savez(rows=ROWS, lengths=[6], ids=[1.5]), r"\bids?\b.*\bstr\b"),
    "npz: an npy": ("it.npz", raw(npy_bytes(ROWS)), "not a zip file"),
    "npz: empty": ("it.npz", raw(b""), "not a zip file"),
}


def test_the_checksum_of_a_compressed_archive(tmp_path: Path) -> None:
    """The four bytes after the sizes of the first directory entry are the checksum of the unpacked data."""
    path = tmp_path / "it.npz"
    np.savez_compressed(path, rows=ROWS, lengths=[6])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 16] ^= 1
    path.write_bytes(data)
    refused(path, "CRC")


@pytest.mark.parametrize(("name", "write", "words"), NUMPY.values(), ids=NUMPY)
def test_numpy_files(tmp_path: Path, name: str, write: Callable[[Path], Any], words: str) -> None:
    write(tmp_path / name)
    np.save(tmp_path / "it.lengths.npy", [2, 0, 4])
    refused(tmp_path / name, words)


def test_lengths_of_an_npy_file(tmp_path: Path) -> None:
    path = tmp_path / "it.npy"
    np.save(path, ROWS)
    refused(path, r"lengths.*it\.lengths\.npy, it\.doclens\.npy")
    refused(path, r"lengths\b.*\b5\b.*\b6\b", lengths=[5])
    for name, text, words in (
        ("it.doclens.json", "[1, 2", "JSON"),
        ("it.doclens.json", "[" * 100_000, "JSON"),
        ("it.doclens.json", '{"a": 1}', "list.*dict"),
        ("it.doclens.json", "[6, 0.0]", "whole numbers"),
        ("it.doclens.json", "[6, true]", "whole numbers"),
        ("it.doclens.json", f"[{2**64}]", "whole numbers"),
        ("it.lengths.npy", "[6]", "NumPy's format"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=words) as caught:
            exchange.read(path)
        assert str(tmp_path / name) in str(caught.value)


def test_ids_of_an_npy_file(tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", ROWS)
    for text, error, words in (
        ('["a"', ValueError, "JSON"),
        ('{"a": 1}', ValueError, "list.*dict"),
        ('["a", 1]', TypeError, r"\bids\b.*\bstr\b.*\bint\b"),
        ("[1.0, 2.0]", TypeError, r"\bids?\b.*\bstr\b"),
        ("[true, false]", TypeError, r"\bids?\b.*\bstr\b"),
        (f"[1, {2**64}]", ValueError, "64 bits"),
        ("\udcff", ValueError, "JSON"),
    ):
        (tmp_path / "it.ids.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(error, match=words) as caught:
            exchange.read(tmp_path / "it.npy", lengths=[3, 3])
        assert str(tmp_path / "it.ids.json") in str(caught.value)

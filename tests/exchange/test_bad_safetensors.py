"""Bad ``.safetensors`` files: an error that names the file and says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import exchange

from .support import npy_bytes, refused

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


def tensors(data: bytes = ROWS.tobytes() + np.array([6]).tobytes(), **changes: Any) -> bytes:
    rows = {"dtype": "F32", "shape": [6, 4], "data_offsets": [0, 96]}
    header = {"rows": rows, "lengths": {"dtype": "I64", "shape": [1], "data_offsets": [96, 104]}}
    for key, value in changes.items():
        if key in rows:
            rows[key] = value
        else:
            header[key] = value
    text = json.dumps({key: value for key, value in header.items() if value is not None}).encode()
    return len(text).to_bytes(8, "little") + text + data


SAFETENSORS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "safetensors file"),
    "short": (b"\1\0\0", "safetensors file"),
    "another format": (npy_bytes(ROWS), "safetensors file"),
    "a huge header": ((2**63).to_bytes(8, "little") + b"{}", "safetensors file"),
    "no JSON": ((2).to_bytes(8, "little") + b"{]", "header.*JSON"),
    "deep": ((50_000).to_bytes(8, "little") + b'{"a":' * 10_000, "header.*JSON"),
    "truncated": (tensors()[:-9], "'rows'.*truncated|'lengths'.*truncated"),
    "no rows": (tensors(rows=None), r"\brows\b"),
    "no lengths": (tensors(lengths=None), r"\blengths\b"),
    "wrong sum": (tensors(ROWS.tobytes() + np.array([5]).tobytes()), r"lengths\b.*\b5\b"),
    "wrong rank": (tensors(shape=[24]), r"\(24,\)"),
    "wrong size": (tensors(shape=[6, 5]), r"'rows'.*\b120\b.*\b96\b"),
    "beyond": (tensors(data_offsets=[9000, 9096]), "'rows'.*truncated"),
    "backwards": (tensors(data_offsets=[96, 0]), "'rows'"),
    "negative": (tensors(shape=[-6, -4]), "tensor 'rows'"),
    "overflow": (tensors(shape=[2**62, 2**62], data_offsets=[0, 2**126]), "'rows'.*truncated"),
    "fractions": (tensors(shape=[6.0, 4]), "tensor 'rows'"),
    "no shape": (tensors(rows={"dtype": "F32"}), "tensor 'rows'"),
    "odd type": (tensors(dtype="F8_E4M3"), "'rows'.*'F8_E4M3'"),
    "unhashable type": (tensors(dtype=["F32"]), "'rows'"),
    "bits as rows": (tensors(dtype="I32"), "int32"),
    "bad ids": (tensors(__metadata__={"ids": "[1"}), r"\bids\b.*list"),
    "ids of no list": (tensors(__metadata__={"ids": "3"}), r"\bids\b.*list"),
    "mixed ids": (tensors(__metadata__={"ids": '["a", 3]'}), r"\bids\b.*\bstr\b.*\bint\b"),
}


@pytest.mark.parametrize(("data", "words"), SAFETENSORS.values(), ids=SAFETENSORS)
def test_safetensors_files(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "it.safetensors"
    path.write_bytes(data)
    refused(path, words)


def test_the_good_form_of_it(tmp_path: Path) -> None:
    (tmp_path / "it.safetensors").write_bytes(tensors(__metadata__={"ids": '["a"]'}))
    assert exchange.read(tmp_path / "it.safetensors").ids == ["a"]

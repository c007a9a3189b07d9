"""Files of the safetensors package, and ours read by it."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import made, same

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
IT = TokenVectors(ROWS, [2, 0, 4], ["a", "b", "c"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_safetensors_package_and_we_agree(tmp_path: Path, dtype: str) -> None:
    package = pytest.importorskip("safetensors.numpy")
    vectors = made(dtype=ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, ids="int")
    exchange.write(vectors, tmp_path / "ours.safetensors")
    loaded = package.load_file(tmp_path / "ours.safetensors")
    assert sorted(loaded) == ["ids", "lengths", "rows"]
    assert loaded["rows"].tobytes() == vectors.rows.tobytes()
    assert loaded["lengths"].tolist() == vectors.lengths.tolist()
    assert loaded["ids"].tolist() == vectors.ids
    package.save_file(loaded, tmp_path / "theirs.safetensors")
    same(exchange.read(tmp_path / "theirs.safetensors"), vectors)


@pytest.mark.full
def test_safetensors_of_torch(tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    tensors = {"embeddings": torch.from_numpy(ROWS.copy()).bfloat16(), "doclens": torch.tensor([2, 0, 4])}
    safetensors.torch.save_file(
        tensors, tmp_path / "it.safetensors", metadata={"doc_ids": '["a", "b", "c"]', "format": "pt"}
    )
    same(exchange.read(tmp_path / "it.safetensors"), TokenVectors(ROWS.astype(ml_dtypes.bfloat16), [2, 0, 4], IT.ids))


def test_bfloat16_without_ml_dtypes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bfloat16 as float32, bit for bit."""
    every = np.arange(2**16, dtype=np.uint16).reshape(-1, 16)
    exchange.write(TokenVectors(every.view(ml_dtypes.bfloat16), [len(every)]), tmp_path / "it.safetensors")
    monkeypatch.setattr("maxsieve.exchange.files.bfloat16_type", lambda: None)
    vectors = exchange.read(tmp_path / "it.safetensors")
    assert vectors.rows.dtype == np.float32
    assert np.array_equal(vectors.rows.view(np.uint32), every.astype(np.uint32) << 16)

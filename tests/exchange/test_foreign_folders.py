"""Files of torch, and folders of ColBERT and of PyLate's XTR-WARP."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import made, same

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
IT = TokenVectors(ROWS, [2, 0, 4], ["a", "b", "c"])


@pytest.mark.full
def test_torch_lists_and_dicts(tmp_path: Path) -> None:
    import torch

    documents = [torch.from_numpy(rows.copy()) for rows in IT.documents()]
    torch.save(documents, tmp_path / "list.pt")
    same(exchange.read(tmp_path / "list.pt", ids=["a", "b", "c"]), IT)
    flat = torch.cat(documents)
    torch.save({"embeddings": flat, "doclens": torch.tensor([2, 0, 4]), "ids": ["a", "b", "c"]}, tmp_path / "dict.pt")
    same(exchange.read(tmp_path / "dict.pt"), IT)
    torch.save(flat.requires_grad_(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    same(exchange.read(tmp_path / "old.pt", lengths=[2, 0, 4], ids=["a", "b", "c"]), IT)


@pytest.mark.parametrize(
    "suffix", ["npy", *(pytest.param(suffix, marks=pytest.mark.full) for suffix in ("pt", "lists"))]
)
def test_numbered_chunks(tmp_path: Path, suffix: str) -> None:
    """Twelve chunks, so that 10 comes after 9 and not after 1; some without documents."""
    vectors = made([i % 4 for i in range(30)], d=3, dtype=np.float16)
    ends = np.concatenate([[0], np.cumsum(vectors.lengths)])
    for i, first in enumerate(range(0, 36, 3)):
        first, last = min(first, 30), min(first + 3, 30)
        rows = vectors.rows[ends[first] : ends[last]].copy()
        if suffix == "npy":
            np.save(tmp_path / f"{i}.npy", rows)
        else:
            import torch

            tensor = torch.from_numpy(rows)
            torch.save(list(tensor.split(1)) or [tensor] if suffix == "lists" else tensor, tmp_path / f"{i}.pt")
        (tmp_path / f"doclens.{i}.json").write_text(json.dumps(vectors.lengths[first:last].tolist()))
    same(exchange.read(tmp_path, ids=vectors.ids), vectors)
    (tmp_path / "ids.json").write_text(json.dumps(vectors.ids))
    (tmp_path / "plan.json").write_text("{}")
    same(exchange.read(tmp_path), vectors)
    assert len(list(exchange.stream(tmp_path).chunks())) == 12
    assert exchange.stream(tmp_path).build().ids == vectors.ids


def test_named_chunks(tmp_path: Path) -> None:
    for i in (8, 9, 10):
        part = TokenVectors(ROWS[: i - 7] + i, [i - 7], [f"d{i}"])
        exchange.write(part, tmp_path / f"shard_{i}.npy")
    vectors = exchange.read(tmp_path)
    assert vectors.ids == ["d8", "d9", "d10"]
    assert vectors.lengths.tolist() == [1, 2, 3]
    assert vectors.rows[:, 0].tolist() == [8, 9, 13, 10, 14, 18]
    (tmp_path / "shard_9.ids.json").unlink()
    with pytest.raises(ValueError, match=r"shard_9\.ids\.json"):
        exchange.read(tmp_path)


@pytest.mark.parametrize("doclens", ["doclens.npy", "doclens.json", "lengths.npy"])
def test_one_tensor_in_a_folder(tmp_path: Path, doclens: str) -> None:
    np.save(tmp_path / "token_vectors.npy", ROWS)
    if doclens.endswith("json"):
        (tmp_path / doclens).write_text("[2, 0, 4]")
    else:
        np.save(tmp_path / doclens, [2, 0, 4])
    same(exchange.read(tmp_path, ids=["a", "b", "c"]), IT)

"""Bad files of torch, bad folders and paths: an error that names the file and says what is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import npy_bytes, refused

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


class Touch:
    """What a malicious pickle would do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.full
def test_torch_files(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "it.pt"
    for what, words in (
        (torch.ones(6), r"\(6,\)"),
        (torch.ones(6, 4, dtype=torch.int32), "int32"),
        (torch.ones(6, 4).to_sparse(), "not a plain tensor"),
        (torch.ones(7, 4), r"lengths\b.*\b6\b.*\b7\b"),
        ([torch.ones(5, 4), torch.ones(1, 3)], r"tensor 1\b.*\b3\b.*\b4\b"),
        ([torch.ones(6, 4), 1], "tensor 1 must"),
        ([], "list of tensors"),
        ({"x": torch.ones(6, 4)}, r"\brows\b"),
        ({"rows": torch.ones(6, 4), "lengths": "/etc/passwd"}, "whole numbers"),
        ({"rows": torch.ones(6, 4), "ids": "/etc/passwd"}, "must be a list of ids"),
        ("text", "must be a tensor"),
        (Touch(tmp_path / "touched"), "torch can load safely"),
    ):
        torch.save(what, path)
        (tmp_path / "it.doclens.json").write_text("[6]")
        refused(path, words)
    assert not (tmp_path / "touched").exists()
    torch.save(torch.ones(6, 4), path)
    (tmp_path / "it.doclens.json").unlink()
    refused(path, "lengths")
    whole = path.read_bytes()
    for data in (b"", b"x", whole[:-1], whole[: len(whole) // 2], npy_bytes(ROWS), pickle.dumps([1])):
        path.write_bytes(data)
        with pytest.raises((ValueError, TypeError)) as caught:
            exchange.read(path, lengths=[6])
        assert str(path) in str(caught.value)


def test_folders(tmp_path: Path) -> None:
    refused(tmp_path, r"doclens.*Index\.open")
    np.save(tmp_path / "0.npy", ROWS)
    refused(tmp_path, r"0\.npy\b.*doclens\.0\.json")
    (tmp_path / "doclens.0.json").write_text("[6]")
    assert len(exchange.read(tmp_path)) == 1
    np.save(tmp_path / "2.npy", ROWS)
    (tmp_path / "doclens.2.json").write_text("[6]")
    refused(tmp_path, "chunk 1 is missing")
    np.save(tmp_path / "1.npy", ROWS[:, :3])
    (tmp_path / "doclens.1.json").write_text("[6]")
    refused(tmp_path, r"\b3\b.*document 1\b.*\b4\b")
    np.save(tmp_path / "1.npy", ROWS)
    (tmp_path / "doclens.1.json").write_text("[3, 2]")
    with pytest.raises(ValueError, match=r"1\.npy: .*\b5\b.*\b6\b"):
        exchange.read(tmp_path)
    (tmp_path / "doclens.1.json").write_text("[3, 3]")
    refused(tmp_path, "4 documents|3 ids|4 ids", ids=["a", "b", "c"])
    np.save(tmp_path / "01.npy", ROWS)
    np.save(tmp_path / "01.lengths.npy", [6])
    refused(tmp_path, "chunk 1 twice")


def test_folders_of_something_else(tmp_path: Path) -> None:
    np.save(tmp_path / "0.codes.npy", ROWS)
    (tmp_path / "doclens.0.json").write_text("[6]")
    refused(tmp_path, "compressed index")
    other = tmp_path / "other"
    other.mkdir()
    for name in ("docs.npy", "queries.npy"):
        exchange.write(TokenVectors(ROWS, [6]), other / name)
    refused(other, r"docs\.npy\b.*queries\.npy")


def test_the_first_chunk_is_missing(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", ROWS)
    (tmp_path / "doclens.1.json").write_text("[6]")
    refused(tmp_path, "chunk 0 is missing")


def test_paths(tmp_path: Path) -> None:
    for read in (exchange.read, exchange.stream):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
            read(tmp_path / "nowhere.npy")
        (tmp_path / "it.csv").touch()
        with pytest.raises(ValueError, match=r"it\.csv: .*\.npy, \.npz"):
            read(tmp_path / "it.csv")
    for read_one in (exchange.read_npy, exchange.read_npz, exchange.read_safetensors):
        with pytest.raises(FileNotFoundError):
            read_one(tmp_path / "nowhere")


def test_names_with_spaces_and_other_letters(tmp_path: Path) -> None:
    folder = tmp_path / "ein Ördner 文書"
    folder.mkdir()
    for name in ("a b.npy", "ü.npz", "é.safetensors", "文.arrow", "😀.parquet", "ordner"):
        exchange.write(TokenVectors(ROWS, [2, 4], ["a", "b"]), folder / name)
        assert exchange.read(folder / name).ids == ["a", "b"]
        assert exchange.read(str(folder / name)).ids == ["a", "b"]

"""Damage at sampled places of a file: an error that names it, or an answer. Never a crash, a hang or another error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from long_form import scaled
from maxsieve import exchange

from .support import NAMES, made

CASES = {name: file for name, file in NAMES.items() if name not in ("folder", "feather")}


def survives(path: Path) -> bool:
    """True if a damaged file could still be read."""
    try:
        vectors = exchange.read(path, lengths=[10]) if path.suffix == ".pt" else exchange.read(path)
    except (ValueError, TypeError) as problem:
        if str(path.with_suffix("")) not in str(problem):
            raise
        return False
    assert sum(len(rows) for rows in vectors.documents()) == len(vectors.rows)
    assert len(vectors.rows.tobytes()) == vectors.rows.nbytes  # every byte is checked
    return True


def needed(name: str) -> None:
    pytest.importorskip({"arrow": "pyarrow", "parquet": "pyarrow"}.get(name, "numpy"))


def write(name: str, folder: Path) -> Path:
    if name == "pt":
        import torch

        torch.save(torch.ones(10, 5), folder / "it.pt")
        return folder / "it.pt"
    exchange.write(made(), folder / CASES[name])
    return folder / CASES[name]


@pytest.mark.parametrize("name", [*CASES, pytest.param("pt", marks=pytest.mark.full)])
def test_truncated(tmp_path: Path, name: str) -> None:
    needed(name)
    path = write(name, tmp_path)
    whole = path.read_bytes()
    for length in np.random.default_rng(0).integers(0, len(whole), scaled(60)):
        path.unlink()
        path.write_bytes(whole[:length])
        assert not survives(path)


@pytest.mark.parametrize("name", [*CASES, pytest.param("pt", marks=pytest.mark.full)])
def test_flipped_bits(tmp_path: Path, name: str) -> None:
    needed(name)
    path = write(name, tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    survived = 0
    for _ in range(cases := scaled(200)):
        data = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            data[place] ^= 1 << int(rng.integers(0, 8))
        path.unlink()  # a mapped file is never changed in place
        path.write_bytes(data)
        survived += survives(path)
    assert survived < cases


def test_flipped_bits_beside_an_npy_file(tmp_path: Path) -> None:
    path = write("npy", tmp_path)
    for side in (tmp_path / "it.lengths.npy", tmp_path / "it.ids.json"):
        whole = side.read_bytes()
        for place in range(len(whole)):
            side.unlink()
            side.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            survives(path)
        side.write_bytes(whole)
    assert survives(path)

"""Files of NumPy, and the names that other programs use for lengths and ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import made, same

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
IT = TokenVectors(ROWS, [2, 0, 4], ["a", "b", "c"])


@pytest.mark.parametrize("pattern", ["it.lengths.npy", "it.doclens.npy", "it.doclens.json", "doclens.it.json"])
def test_lengths_beside_a_file(tmp_path: Path, pattern: str) -> None:
    np.save(tmp_path / "it.npy", ROWS)
    if pattern.endswith("json"):
        (tmp_path / pattern).write_text("[2, 0, 4]")
    else:
        np.save(tmp_path / pattern, np.array([2, 0, 4], np.int32))
    (tmp_path / "it.ids.json").write_text('["a", "b", "c"]', encoding="utf-8")
    same(exchange.read(tmp_path / "it.npy"), IT)


def test_lengths_and_ids_given_or_in_named_files(tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", ROWS)
    np.savez(tmp_path / "it.npz", rows=ROWS, lengths=[6])
    exchange.write(TokenVectors(ROWS, [6], [5]), tmp_path / "it.safetensors")
    (tmp_path / "n.json").write_text("[2, 0, 4]")
    (tmp_path / "i.json").write_text('["a", "b", "c"]')
    for name in ("it.npy", "it.npz", "it.safetensors"):
        path = tmp_path / name
        same(exchange.read(path, lengths=[2, 0, 4], ids=["a", "b", "c"]), IT)
        same(exchange.read(path, lengths=tmp_path / "n.json", ids=str(tmp_path / "i.json")), IT)


def test_fortran_order(tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", np.asfortranarray(ROWS))
    np.savez_compressed(tmp_path / "it.npz", rows=np.asfortranarray(ROWS), lengths=[2, 0, 4])
    same(exchange.read(tmp_path / "it.npy", lengths=[2, 0, 4], ids=["a", "b", "c"]), IT)
    same(exchange.read(tmp_path / "it.npz", ids=["a", "b", "c"]), IT)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("keys", [("rows", "lengths", "ids"), ("doc_tokens", "doc_lengths", "doc_ids")])
def test_archives(tmp_path: Path, save: Any, keys: tuple[str, str, str]) -> None:
    arrays = (ROWS, np.array([2, 0, 4], np.uint32), np.array(["a", "b", "c"]))
    save(tmp_path / "it.npz", query_tokens=np.eye(3), query_lengths=[3], **dict(zip(keys, arrays, strict=True)))
    same(exchange.read(tmp_path / "it.npz"), IT)
    other = exchange.read(tmp_path / "it.npz", names=("query_tokens", "query_lengths", None))
    same(other, TokenVectors(np.eye(3), [3]))


def test_numpy_reads_ours(tmp_path: Path) -> None:
    vectors = made()
    exchange.write(vectors, tmp_path / "it.npy")
    exchange.write(vectors, tmp_path / "it.npz")
    assert np.array_equal(np.load(tmp_path / "it.npy", allow_pickle=False), vectors.rows)
    assert np.array_equal(np.load(tmp_path / "it.lengths.npy", allow_pickle=False), vectors.lengths)
    assert json.loads((tmp_path / "it.ids.json").read_bytes()) == vectors.ids
    with np.load(tmp_path / "it.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["rows"], vectors.rows)
        assert np.array_equal(archive["lengths"], vectors.lengths)
        assert archive["ids"].tolist() == vectors.ids


@pytest.mark.full
def test_real_colbert_vectors(tmp_path: Path) -> None:
    corpora = os.environ.get("MAXSIEVE_CORPORA", "")
    path = Path(corpora).parent / "embeddings" / "colbertv2_nanofiqa.npz"
    if not corpora or not path.exists():
        pytest.skip("MAXSIEVE_CORPORA is not set: no real vectors to test with")
    vectors = exchange.read(path)
    assert (len(vectors), vectors.dim, len(vectors.rows)) == (35, 128, 4430)
    assert vectors.ids is not None
    assert vectors.ids[0] == "106424"
    queries = exchange.read(path, names=("query_tokens", "query_lengths", "query_ids"))
    assert queries.lengths.tolist() == [32] * 5
    index = vectors.build()
    exchange.write(index, tmp_path / "it.safetensors")
    same(exchange.read(tmp_path / "it.safetensors"), vectors)

"""Nothing is copied if that is promised, nothing can be written to, and memory stays bounded."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import DTYPES, NAMES, NO_BFLOAT16, is_mapped, lies_in, made, same

LINUX = sys.platform == "linux"


MAPPED = [
    (name, dtype)
    for name in ("npy", "npz", "safetensors", "arrow", "feather", "folder")
    for dtype in DTYPES
    if dtype != "bfloat16" or name not in NO_BFLOAT16
]


@pytest.mark.parametrize(("name", "dtype"), MAPPED)
@pytest.mark.parametrize("d", [1, 5, 16])
def test_rows_lie_in_the_file(tmp_path: Path, name: str, dtype: str, d: int) -> None:
    if name in ("arrow", "feather"):
        pytest.importorskip("pyarrow")
    path = tmp_path / NAMES[name]
    vectors = made(d=d, dtype=DTYPES[dtype])
    exchange.write(vectors, path)
    rows = exchange.read(path).rows
    assert rows.flags.aligned
    if name in ("arrow", "feather"):
        assert lies_in(rows, path)
    else:
        assert is_mapped(rows)
        assert not LINUX or lies_in(rows, path / "embeddings_0.npy" if name == "folder" else path)
    assert rows.tobytes() == vectors.rows.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1


def test_documents_are_views(tmp_path: Path) -> None:
    exchange.write(made(), tmp_path / "it.npy")
    vectors = exchange.read(tmp_path / "it.npy")
    for rows in vectors.documents():
        assert not rows.flags.writeable
        assert not len(rows) or np.shares_memory(rows, vectors.rows)


def test_the_callers_arrays_are_not_changed() -> None:
    rows, lengths = np.eye(3, dtype=np.float32), np.array([1, 2])
    vectors = TokenVectors(rows, lengths)
    assert np.shares_memory(vectors.rows, rows)
    assert rows.flags.writeable
    lengths[:] = 3  # it is copied, because there are few
    assert vectors.lengths.tolist() == [1, 2]
    assert not vectors.rows.flags.writeable


def test_one_array_is_one_batch_of_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("maxsieve.exchange.write_source.WriteSource.blocks.__defaults__", (64,))
    for source, batches in ((made(), 1), (made().build(), 4)):
        exchange.write(source, tmp_path / "it.arrow")
        assert len(list(exchange.stream(tmp_path / "it.arrow").chunks())) == batches


def test_batches_of_arrow_are_not_copied(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "it.arrow"
    index = made([50] * 40, d=128).build()
    exchange.write(index, path)
    for chunk in exchange.stream(path).chunks():
        assert lies_in(chunk.rows, path)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_torch_files_are_mapped(tmp_path: Path, dtype: str) -> None:
    import torch

    path = tmp_path / "it.pt"
    torch.save(torch.ones(2000, 64, dtype=getattr(torch, dtype)), path)
    vectors = exchange.read(path, lengths=[1500, 500])
    assert vectors.rows.dtype == dtype
    assert not vectors.rows.flags.writeable
    assert not LINUX or lies_in(vectors.rows, path)


def test_members_that_numpy_stored_are_mapped_if_aligned(tmp_path: Path) -> None:
    """The file name decides where NumPy's archives put the numbers."""
    for key, mapped in (("doc_tokens", True), ("rows", False)):
        np.savez(tmp_path / "it.npz", **{key: np.eye(4, dtype=np.float32)}, doclens=[1, 3])
        rows = exchange.read(tmp_path / "it.npz").rows
        assert rows.flags.aligned
        assert is_mapped(rows) == mapped
        assert np.array_equal(rows, np.eye(4))


def test_misaligned_rows_are_copied(tmp_path: Path) -> None:
    path = tmp_path / "it.safetensors"
    rows = np.eye(3, dtype="<f4")
    lengths = b'"lengths": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}'
    head = b'{%s, "rows": {"dtype": "F32", "shape": [3, 3], "data_offsets": [3, 39]}}' % lengths
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"\1\1\1" + rows.tobytes())
    vectors = exchange.read(path)
    assert vectors.rows.flags.aligned
    assert np.array_equal(vectors.rows, rows)


def test_a_mapped_file_may_be_replaced_by_its_own_contents(tmp_path: Path) -> None:
    for name in NAMES.values():
        if name == "it":
            continue
        exchange.write(made(), tmp_path / name)
        vectors = exchange.read(tmp_path / name)
        exchange.write(vectors, tmp_path / name)
        same(exchange.read(tmp_path / name), made())
        same(vectors, made())


@pytest.fixture(scope="module")
def large_index() -> ms.Index:
    return ms.Index.build(np.ones((200_000, 128), np.float32), lengths=[400] * 500)


@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_not_gathered_in_memory(tmp_path: Path, name: str, large_index: ms.Index) -> None:
    """100 MB of rows. Python and NumPy allocate less than a third of it beside the index."""
    if name in ("arrow", "feather", "parquet"):
        pytest.importorskip("pyarrow")
    options = {"chunk_bytes": 8 << 20} if name == "folder" else {}
    tracemalloc.start()
    exchange.write(large_index, tmp_path / NAMES[name], **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 36 << 20


def test_parquet_is_read_in_bounded_memory(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "it.parquet"
    exchange.write(TokenVectors(np.ones((400_000, 64), np.float32), [400] * 1000), path)
    before, most = pa.total_allocated_bytes(), 0
    for count, _ in enumerate(exchange.iter_parquet(path)):
        if count % 50 == 0:
            most = max(most, pa.total_allocated_bytes() - before)
    assert count == 999
    assert most < 50 << 20  # of 100 MB

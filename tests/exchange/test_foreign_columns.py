"""Arrow and Parquet files of other programs, with every form of lists."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import exchange
from maxsieve.exchange import TokenVectors
from maxsieve.exchange.columns import vectors_of

from .support import made, same

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
NESTED = [ROWS[:2].tolist(), [], ROWS[2:].tolist()]
IT = TokenVectors(ROWS, [2, 0, 4], ["a", "b", "c"])


def arrow_types() -> dict[str, tuple[Any, dict[str, Any]]]:
    pa = pytest.importorskip("pyarrow")
    number = pa.float32()
    return {
        "list of fixed lists": (pa.list_(pa.list_(number, 4)), {}),
        "list of lists": (pa.list_(pa.list_(number)), {}),
        "large lists": (pa.large_list(pa.large_list(number)), {}),
        "large list of fixed lists": (pa.large_list(pa.list_(number, 4)), {}),
        "flat": (pa.list_(number), {"dim": 4}),
        "large and flat": (pa.large_list(number), {"dim": 4}),
    }


@pytest.mark.parametrize("form", ["file", "stream", "lz4", "parquet", "parquet zstd"])
@pytest.mark.parametrize("kind", list(arrow_types()) if importlib.util.find_spec("pyarrow") else [])
@pytest.mark.parametrize("batches", [1, 2])
def test_list_columns(tmp_path: Path, form: str, kind: str, batches: int) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    list_type, options = arrow_types()[kind]
    values = NESTED if not options else [[number for row in rows for number in row] for rows in NESTED]
    table = pa.table({"text": ["x", "y", "z"], "id": ["a", "b", "c"], "emb": pa.array(values, list_type)})
    pieces = table.to_batches(max_chunksize=3 if batches == 1 else 2)
    path = tmp_path / ("it.parquet" if "parquet" in form else "it.arrow")
    if "parquet" in form:
        compression = "zstd" if "zstd" in form else "none"
        pq.write_table(pa.Table.from_batches(pieces), path, compression=compression, row_group_size=4 - batches)
    else:
        new = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
        settings = pa.ipc.IpcWriteOptions(compression="lz4" if form == "lz4" else None)
        with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema, options=settings) as writer:
            for piece in pieces:
                writer.write_batch(piece)
    same(exchange.read(path, column="emb", **options), IT)
    same(
        exchange.stream(path, column="emb", id_column="text", **options).joined(),
        TokenVectors(ROWS, [2, 0, 4], ["x", "y", "z"]),
    )
    if not options:
        same(exchange.read(path, ids=[3, 2, 1]), TokenVectors(ROWS, [2, 0, 4], [3, 2, 1]))


def test_a_slice_of_a_column() -> None:
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.list_(pa.list_(pa.float32(), 4)), pa.list_(pa.list_(pa.float32()))):
        rows, lengths = vectors_of(pa.array([[[9.0] * 4], *NESTED, [[8.0] * 4]], kind)[1:4], None, 1)
        assert rows is not None
        assert np.array_equal(rows, ROWS)
        assert lengths.tolist() == [2, 0, 4]
    with pytest.raises(ValueError, match=r"row 7\b"):
        vectors_of(pa.array([[], [[1.0]], [[2.0]], [None]])[1:], None, 5)


def test_slices_tensors_and_categories(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    nested = pa.array([[[9.0] * 4], *NESTED, [[8.0] * 4]], pa.list_(pa.list_(pa.float32(), 4)))[1:4]
    ids = pa.array(["z", "a", "b", "c", "y"]).dictionary_encode()[1:4]
    write_batch(tmp_path / "slice.arrow", {"id": ids, "vectors": nested})
    same(exchange.read(tmp_path / "slice.arrow"), IT)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(ROWS.reshape(2, 3, 4))
    write_batch(tmp_path / "tensor.arrow", {"id": pa.array([1, 2], pa.int8()), "vectors": tensors})
    same(exchange.read(tmp_path / "tensor.arrow", dim=4), TokenVectors(ROWS, [3, 3], [1, 2]))


def write_batch(path: Path, arrays: dict[str, Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def test_documents_without_tokens_wait_for_the_dimension(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = pa.array([[], [], [], *NESTED, []], pa.list_(pa.list_(pa.float32())))
    pq.write_table(pa.table({"id": list("uvwabcx"), "vectors": values}), tmp_path / "it.parquet", row_group_size=1)
    pairs = [(one, rows.shape) for one, rows in exchange.iter_parquet(tmp_path / "it.parquet")]
    assert pairs == [*[(one, (0, 4)) for one in "uvw"], ("a", (2, 4)), ("b", (0, 4)), ("c", (4, 4)), ("x", (0, 4))]
    index = exchange.stream(tmp_path / "it.parquet").build()
    assert index.ids == list("uvwabcx")
    for one, rows in exchange.iter_parquet(tmp_path / "it.parquet"):
        assert np.array_equal(index.vectors(one), rows)


def test_a_generator_of_documents_feeds_an_index(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    exchange.write(made(ids="no ids"), tmp_path / "it.parquet")
    index = ms.Index.build(rows for _, rows in exchange.iter_parquet(tmp_path / "it.parquet"))
    assert index.ids == [one for one, _ in exchange.iter_parquet(tmp_path / "it.parquet")] == list(range(7))


def test_columns_with_dots_and_neighbours(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    lists = pa.array(NESTED, pa.list_(pa.list_(pa.float32(), 4)))
    columns = {
        "a": pa.array([{"b": [1.0]}] * 3),
        "a.b": lists,
        "vectors2": pa.array([[1.0]] * 3),
        "k.id": ["a", "b", "c"],
    }
    pq.write_table(pa.table(columns), tmp_path / "it.parquet")
    same(exchange.read(tmp_path / "it.parquet", column="a.b", id_column="k.id"), IT)


def test_others_read_our_parquet(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    exchange.write(IT, tmp_path / "it.parquet")
    assert pq.read_table(tmp_path / "it.parquet").to_pydict() == {"id": ["a", "b", "c"], "vectors": NESTED}

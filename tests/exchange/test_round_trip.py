"""What is written comes back: every format, type and kind of ids, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import DTYPES, IDS, LENGTHS, NAMES, NO_BFLOAT16, chunked, made, same

pytest.importorskip("pyarrow")

SHAPES = {
    "ragged": LENGTHS,
    "none": [],
    "one": [3],
    "only empty ones": [0, 0, 0],
    "empty at both ends": [0, 2, 0],
}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
def test_everything_comes_back(tmp_path: Path, name: str, dtype: Any, ids: str, lengths: list[int]) -> None:
    vectors = made(lengths, dtype=dtype, ids=ids)
    path = tmp_path / NAMES[name]
    if name in NO_BFLOAT16 and np.dtype(dtype).name == "bfloat16":
        with pytest.raises(ValueError, match=r"\bit\b.*: .*bfloat16"):
            exchange.write(vectors, path)
        assert list(tmp_path.iterdir()) == []
        return
    exchange.write(vectors, path)
    same(exchange.read(path), vectors)
    streamed = exchange.stream(path)
    assert streamed.ids == vectors.ids
    same(streamed.joined(), vectors)
    assert [rows.tobytes() for rows in streamed.documents()] == [rows.tobytes() for rows in vectors.documents()]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_chunks_are_written_as_the_whole(tmp_path: Path, name: str, dtype: Any) -> None:
    vectors = made(dtype=dtype)
    exchange.write(chunked(vectors, 1, 2, 5), tmp_path / NAMES[name])
    same(exchange.read(tmp_path / NAMES[name]), vectors)


@pytest.mark.parametrize("store", ["float32", "float16"])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_an_index_becomes_the_same_index(tmp_path: Path, name: str, store: Any, similarity: Any) -> None:
    index = made().build(store=store, similarity=similarity)
    index.delete(index.ids[2:4])
    exchange.write(index, tmp_path / NAMES[name])
    vectors = exchange.read(tmp_path / NAMES[name])
    assert vectors.rows.dtype == store
    assert vectors.ids == index.ids
    again = exchange.stream(tmp_path / NAMES[name]).build(store=store)
    for one in index.ids:
        assert again.vectors(one).tobytes() == index.vectors(one).tobytes()
    query = np.ones((2, index.dim))
    searched = [each.search(query, 3).ids for each in (index, again)]
    assert similarity == "cosine" or searched[0] == searched[1]


def test_an_empty_index(tmp_path: Path, name: str) -> None:
    exchange.write(ms.Index.create(7), tmp_path / NAMES[name])
    vectors = exchange.read(tmp_path / NAMES[name])
    assert (len(vectors), vectors.dim, vectors.ids) == (0, 7, [])
    assert exchange.stream(tmp_path / NAMES[name]).build().dim == 7


def test_other_byte_orders_and_layouts(tmp_path: Path, name: str) -> None:
    vectors = made()
    for i, rows in enumerate((vectors.rows.astype(">f4"), np.asfortranarray(vectors.rows), vectors.rows[:, ::-1])):
        path = tmp_path / f"{i}{NAMES[name]}"
        exchange.write(TokenVectors(rows, vectors.lengths), path)
        assert np.array_equal(exchange.read(path).rows, rows)
        assert exchange.read(path).rows.dtype == np.float32


def test_small_blocks_make_no_difference(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = made([1, 2, 0, 40, 3, 0] * 10, d=3, ids="int")
    monkeypatch.setattr("maxsieve.exchange.write_source.WriteSource.blocks.__defaults__", (64,))
    options = {"chunk_bytes": 64} if name == "folder" else {}
    path = tmp_path / NAMES[name]
    exchange.write(chunked(vectors, 30), path, **options)
    same(exchange.read(path), vectors)
    pieces = list(exchange.stream(path).chunks())
    if name in ("arrow", "feather", "folder"):
        assert len(pieces) > 20
    assert exchange.stream(path).build().tokens == len(vectors.rows)


@pytest.mark.parametrize(
    ("style", "dtype"),
    [*(pytest.param("colbert", each, marks=pytest.mark.full) for each in DTYPES), ("pylate", "float16")],
)
def test_folders_of_either_style(tmp_path: Path, style: Any, dtype: str) -> None:
    vectors = made(dtype=DTYPES[dtype])
    exchange.write(vectors, tmp_path / "it", style=style, chunk_bytes=40)
    same(exchange.read(tmp_path / "it"), vectors)
    names = {path.name for path in (tmp_path / "it").iterdir()}
    assert names >= ({"0.pt", "doclens.0.json"} if style == "colbert" else {"embeddings_0.npy", "ids.json"})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(lambda text: not text.endswith("\0"))
ids_of_any_kind = st.one_of(
    st.lists(texts, unique=True, max_size=6),
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=6),
    st.integers(0, 6),
)


@settings(max_examples=40)
@given(data=st.data(), ids=ids_of_any_kind, d=st.integers(1, 9), dtype=st.sampled_from(["<f2", "<f4", "<f8"]))
def test_anything_comes_back(tmp_path_factory: pytest.TempPathFactory, data: Any, ids: Any, d: int, dtype: str) -> None:
    count = ids if isinstance(ids, int) else len(ids)
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    bits = data.draw(st.binary(min_size=64, max_size=64))
    rows = np.resize(np.frombuffer(bits, dtype), (sum(lengths), d))  # any bits: NaN must come back unchanged, too
    vectors = TokenVectors(rows, lengths, None if isinstance(ids, int) else ids)
    folder = tmp_path_factory.mktemp("any")
    for name in NAMES.values():
        exchange.write(vectors, folder / name)
        same(exchange.read(folder / name), vectors)


def test_odd_ids(tmp_path: Path) -> None:
    """Half of a surrogate pair is not valid Unicode, and NumPy's str arrays drop null characters at the end."""
    for odd, refusing in (("half \ud800", ("arrow", "parquet")), ("null\0", ("npz",))):
        vectors = TokenVectors(np.eye(2), [1, 1], [odd, ""])
        for name in NAMES:
            path = tmp_path / odd[:4] / NAMES[name]
            path.parent.mkdir(exist_ok=True)
            if name in refusing or (name == "feather" and "arrow" in refusing):
                with pytest.raises(ValueError, match=f"id '{odd[:4]}") as caught:
                    exchange.write(vectors, path)
                assert str(path) in str(caught.value)
                assert not path.exists()
            else:
                exchange.write(vectors, path)
                assert exchange.read(path).ids == [odd, ""]

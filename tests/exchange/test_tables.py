"""Arrow tables, batches and readers: every form of lists, what is refused, and the state after a failure."""

from __future__ import annotations

import datetime
import gc
import math
import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import exchange
from maxsieve.exchange import TokenVectors

from .support import same

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
NESTED = [ROWS[:2].tolist(), [], ROWS[2:].tolist()]
NUMBERS = {"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()}
OUTER = {"list": pa.list_, "large": pa.large_list, "view": pa.list_view, "large view": pa.large_list_view}
INNER = OUTER | {"fixed": lambda number: pa.list_(number, 4)}


def views(begins: list[int], sizes: list[int]) -> Any:
    """A column of list views over the six vectors of `ROWS`."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), 4)
    return pa.ListViewArray.from_arrays(pa.array(begins, pa.int32()), pa.array(sizes, pa.int32()), vectors)


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def reader_of(batches: Any, schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(schema, batches)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_every_kind_of_list(number: str, outer: str, inner: str) -> None:
    kind = OUTER[outer](INNER[inner](NUMBERS[number]))
    column = pa.array([[[9] * 4], *NESTED, [[8] * 4]], kind)
    whole = pa.table({"id": ["x", "a", "b", "c", "y"], "emb": column})
    expected = TokenVectors(ROWS.astype(number), [2, 0, 4], ["a", "b", "c"])
    sliced = whole[1:4]
    pieces = pa.concat_tables([whole[1:2], whole[2:3], whole[3:4]])
    for source in (sliced, pieces, sliced.to_batches()[0], sliced.to_reader(), pieces.to_reader()):
        same(exchange.from_arrow(source).joined(), expected)
    index = exchange.from_arrow(pieces.to_reader()).build(store="float16")
    assert index.ids == ["a", "b", "c"]
    assert np.array_equal(index.vectors("c"), ROWS[2:].astype(np.float16))


class Stream:
    """An object of another library, of which only its Arrow stream is known."""

    def __init__(self, inner: pa.Table) -> None:
        self._inner = inner

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._inner.__arrow_c_stream__(requested_schema)


class Batch:
    def __init__(self, inner: pa.RecordBatch) -> None:
        self._inner = inner

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._inner.__arrow_c_array__(requested_schema)


def test_whatever_speaks_the_c_interface() -> None:
    whole = table(id=[3, 1, 2], emb=pa.array(NESTED, pa.list_(pa.list_(pa.float32()))))
    expected = TokenVectors(ROWS, [2, 0, 4], [3, 1, 2])
    same(exchange.from_arrow(Stream(whole)).joined(), expected)
    same(exchange.from_arrow(Batch(whole.to_batches()[0])).joined(), expected)


@pytest.mark.parametrize("kind", [pa.list_(pa.list_(pa.float32(), 4)), pa.large_list(pa.list_(pa.float32()))])
def test_nothing_is_copied(kind: Any) -> None:
    whole = table(emb=pa.array(NESTED, kind))
    buffers = [each for each in whole.column("emb").chunk(0).buffers() if each is not None]
    found = exchange.from_arrow(whole).joined().rows
    address = found.__array_interface__["data"][0]
    assert any(each.address <= address < each.address + each.size for each in buffers)
    del whole, buffers
    gc.collect()
    assert np.array_equal(found, ROWS)


def test_views_out_of_order_with_gaps() -> None:
    same(exchange.from_arrow(table(emb=views([4, 0, 2], [2, 0, 1]))).joined(), TokenVectors(ROWS[[4, 5, 2]], [2, 0, 1]))
    same(exchange.from_arrow(table(emb=views([1, 5, 3], [2, 0, 2]))).joined(), TokenVectors(ROWS[1:5], [2, 0, 2]))


def test_views_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^the table\b.*\b12\b.*\b6\b"):
        exchange.from_arrow(table(emb=views([0, 0], [6, 6]))).joined()


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
@pytest.mark.parametrize("level", ["documents", "vectors"])
@pytest.mark.parametrize("bad", [[0, 2, 10**6], [0, 7, 6], [-5, 2, 6], [0, 2, -1], [2**31 - 1, 0, 6]])
def test_offsets_that_point_anywhere(bad: list[int], level: str, kind: Any) -> None:
    """They are changed after pyarrow has checked them: it checks all of them only if asked to."""
    offsets = np.zeros(3, kind.to_pandas_dtype())
    child = pa.array(ROWS.reshape(-1))
    if level == "documents":
        child = pa.FixedSizeListArray.from_arrays(child, 4)
    lists = (pa.large_list if kind == pa.int64() else pa.list_)(child.type)
    column = pa.Array.from_buffers(lists, 2, [None, pa.py_buffer(offsets)], children=[child])
    if level == "vectors":
        column = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), column)
    whole = table(emb=column)
    offsets[:] = bad
    for source in (whole, whole.to_reader()):
        index = ms.Index.create(4)
        with pytest.raises(ValueError, match=r"the (table|reader): .*[Oo]ffset"):
            exchange.from_arrow(source, ids=range(len(column))).add_to(index)
        assert len(index) == 0


@pytest.mark.parametrize(("begins", "sizes"), [([0, 5], [2, 2]), ([-1, 0], [2, 2]), ([0, 0], [-1, 2])])
def test_views_that_point_anywhere(begins: list[int], sizes: list[int]) -> None:
    child = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), 4)
    buffers = [None, pa.array(begins, pa.int32()).buffers()[1], pa.array(sizes, pa.int32()).buffers()[1]]
    column = pa.Array.from_buffers(pa.list_view(child.type), 2, buffers, children=[child])
    with pytest.raises(ValueError, match=r"the table: .*[Oo]ffset|the table: .*[Ss]ize"):
        exchange.from_arrow(table(emb=column)).joined()


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "null document": ([[[1.0]], None], {}, "row 1: .*document.*null"),
    "null vector": ([[[1.0]], [[1.0], None]], {}, "row 1: .*vector.*null"),
    "null number": ([[[1.0]], [], [[None]]], {}, "row 2: .*number.*null"),
    "ragged": ([[[1.0, 2.0]], [[1.0, 2.0], [1.0]]], {}, r"row 1\b.*\b1\b.*\b2\b"),
    "mixed": ([[[1.0, 2.0]], [[1.0]]], {}, r"row 1\b.*\b1\b.*\b2\b"),
    "another dim": ([[[1.0, 2.0]]], {"dim": 3}, r"row 0\b.*\b2\b.*\b3\b"),
    "no token": (pa.array([[], []], pa.list_(pa.list_(pa.float32()))), {}, "token.*dim="),
    "no dimension": ([[[]]], {}, "0 dimensions|null"),
}


@pytest.mark.parametrize(("column", "options", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(column: Any, options: dict[str, Any], words: str) -> None:
    whole = pa.table({"emb": column})
    for source in (whole, whole.to_reader(max_chunksize=1)):
        with pytest.raises(ValueError, match=words):
            exchange.from_arrow(source, **options).build()


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2.0**51])
def test_numbers_that_are_none_are_refused_with_document_and_row(bad: float) -> None:
    whole = table(id=["a", "b"], emb=[[[1.0, 2.0]], [[1.0, 2.0], [3.0, bad]]])
    with pytest.raises(ValueError, match="document 'b', row 1, dimension 1"):
        exchange.from_arrow(whole).build()
    index = ms.Index.create(2)
    with pytest.raises(ValueError, match="document 'b', row 1, dimension 1"):
        exchange.from_arrow(whole.to_reader(max_chunksize=1)).add_to(index)
    assert len(index) == 0


@pytest.mark.parametrize("source", [[1, 2], "it.arrow", np.eye(2), pa.array([1]), None])
def test_what_is_no_table(source: Any) -> None:
    with pytest.raises(TypeError, match=r"[Tt]able"):
        exchange.from_arrow(source)


def test_a_table_of_another_kind_says_how_it_becomes_one() -> None:
    class Lance:
        def to_arrow(self) -> None: ...

    with pytest.raises(TypeError, match=r"Lance\b.*to_arrow\(\)"):
        exchange.from_arrow(Lance())


def batches(count: int, error: Exception | None = None, documents: int = 3, tokens: int = 2) -> Iterator[Any]:
    for i in range(count):
        ids = pa.array([f"{i}-{j}" for j in range(documents)])
        numbers = pa.array(np.full(documents * tokens * 4, i, np.float32))
        lists = pa.ListArray.from_arrays(
            pa.array(np.arange(documents + 1, dtype=np.int32) * tokens), pa.FixedSizeListArray.from_arrays(numbers, 4)
        )
        yield pa.record_batch([ids, lists], names=["id", "emb"])
    if error is not None:
        raise error


SCHEMA = next(batches(1)).schema


@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("block", [16, 64 << 20])
def test_a_reader_that_fails_half_way_leaves_nothing(
    tmp_path: Path, where: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxsieve.storage.segments.BLOCK_BYTES", block)
    path = tmp_path / "it" if where == "disk" else None
    failing = exchange.from_arrow(reader_of(batches(5, RuntimeError("the line is dead")), SCHEMA))
    with pytest.raises(RuntimeError, match="the line is dead"):
        failing.build(path=path)
    assert list(tmp_path.iterdir()) == []
    index = ms.Index.build(np.ones((2, 4)), ["old"], lengths=[2], path=path)
    before = sorted(each.name for each in tmp_path.rglob("*"))
    with pytest.raises(RuntimeError, match="the line is dead"):
        exchange.from_arrow(reader_of(batches(5, RuntimeError("the line is dead")), SCHEMA)).add_to(index)
    assert index.ids == ["old"]
    if path is not None:
        assert sorted(each.name for each in tmp_path.rglob("*")) == before
        assert ms.Index.open(path).ids == ["old"]
    exchange.from_arrow(reader_of(batches(5), SCHEMA)).add_to(index)
    assert len(index) == 16


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_ids_of_a_table_are_checked(tmp_path: Path, where: str) -> None:
    path = tmp_path / "it" if where == "disk" else None
    index = ms.Index.build(np.ones((1, 4)), ["1-0"], lengths=[1], path=path)
    twice = [*batches(2), next(batches(1))]
    with pytest.raises(ValueError, match="'1-0'"):
        exchange.from_arrow(reader_of(batches(2), SCHEMA)).add_to(index)
    with pytest.raises(ValueError, match="'0-0'"):
        exchange.from_arrow(reader_of(twice, SCHEMA)).add_to(index, replace=True)
    numbers = table(id=[1], emb=pa.array([[[1.0] * 4]]))
    with pytest.raises(TypeError, match=r"\bstr\b.*\bint\b"):
        exchange.from_arrow(numbers).add_to(index)
    assert index.ids == ["1-0"]
    exchange.from_arrow(reader_of(batches(2), SCHEMA)).add_to(index, replace=True)
    assert index.ids == [f"{i}-{j}" for i in range(2) for j in range(3)]
    assert np.array_equal(index.vectors("1-0"), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"^the table\b.*\bids\b"):
        exchange.from_arrow(table(emb=pa.array([[[1.0] * 4]]))).add_to(index)
    with pytest.raises(ValueError, match=r"^the table\b.*\b1\b.*\b4\b"):
        exchange.from_arrow(table(id=["x"], emb=[[[1.0]]])).add_to(index)


def test_a_reader_is_read_as_it_is_asked_for() -> None:
    """At most one more batch is alive than one block holds."""
    alive: list[int] = []

    def counted() -> Iterator[Any]:
        for batch in batches(40, documents=512, tokens=64):  # each 512 KiB
            alive.append(1)
            weakref.finalize(batch, alive.pop)
            peaks.append(len(alive))
            yield batch

    peaks: list[int] = []
    chunks = exchange.from_arrow(reader_of(counted(), SCHEMA))
    assert peaks == []
    for chunk in chunks.chunks():
        assert len(chunk) == 512
        del chunk
    assert len(peaks) == 40
    assert max(peaks) <= 3


def test_a_reader_is_gone_through_once() -> None:
    whole = table(id=["a"], emb=[[[1.0, 2.0]]])
    chunks = exchange.from_arrow(whole.to_reader())
    same(chunks.joined(), TokenVectors(np.array([[1.0, 2.0]]), [1], ["a"]))
    with pytest.raises(ValueError, match=r"^the reader\b.*\bread before"):
        chunks.joined()
    same(exchange.from_arrow(whole).joined(), exchange.from_arrow(whole).joined())


def test_a_table_is_written_with_its_ids(tmp_path: Path) -> None:
    whole = pa.concat_tables([table(id=["a"], emb=[[[1.0, 2.0]]]), table(id=["b"], emb=[[[3.0, 4.0]]])])
    exchange.write(exchange.from_arrow(whole), tmp_path / "it.npz")
    assert exchange.read(tmp_path / "it.npz").ids == ["a", "b"]
    with pytest.raises(ValueError, match=r"^the reader\b.*\bwrit"):
        exchange.write(exchange.from_arrow(whole.to_reader()), tmp_path / "other.npz")


def test_metadata_comes_with_hits(tmp_path: Path) -> None:
    columns = {
        "key": ["a", "b", "c"],
        "emb": pa.array([[], [[1.0, 0.0]], [[0.0, 1.0]]], pa.list_(pa.list_(pa.float32()))),
        "title": pa.array(["A", None, "C"], pa.string_view()),
        "where": [{"page": 1, "tags": ["x"]}, {"page": 2, "tags": []}, None],
    }
    whole = pa.table(columns)
    for source in (whole, whole.to_reader(max_chunksize=1)):
        chunks = exchange.from_arrow(source, column="emb", id_column="key", metadata_columns="all")
        path = tmp_path / type(source).__name__
        chunks.build(path=path).close()
        index = ms.Index.open(path)
        assert index.metadata("a") == {"title": "A", "where": {"page": 1, "tags": ["x"]}}
        assert index.metadata("b") == {"title": None, "where": {"page": 2, "tags": []}}
        assert index.search([[0.0, 1.0]], k=1).metadata == [{"title": "C", "where": None}]
    given_ids = exchange.from_arrow(whole, column="emb", metadata_columns=["title"], ids=[7, 8, 9])
    built = given_ids.build()
    assert (built.metadata(7), built.metadata(9)) == ({"title": "A"}, {"title": "C"})
    index = ms.Index.create(2)
    given_ids.add_to(index)
    assert index.metadata(9) == {"title": "C"}
    numbered = exchange.from_arrow(whole, column="emb", metadata_columns=["title"]).build()
    assert numbered.metadata(0) == {"title": "A"}
    assert exchange.from_arrow(whole, column="emb", metadata_columns=["title"]).joined().build().metadata(2) == {
        "title": "C"
    }


def test_vectors_in_one_piece_are_added_too() -> None:
    index = ms.Index.create(2)
    vectors = exchange.from_arrow(table(id=["a"], emb=[[[1.0, 2.0]]], n=[1]), metadata_columns="all", column="emb")
    vectors.joined().add_to(index)
    assert index.metadata("a") == {"n": 1}
    with pytest.raises(ValueError, match="'a'"):
        vectors.joined().add_to(index)
    vectors.joined().add_to(index, replace=True)
    with pytest.raises(ValueError, match=r"^token vectors\b.*\bids\b"):
        TokenVectors(np.eye(2), [2]).add_to(index)
    with pytest.raises(ValueError, match=r"\b2\b.*metadata.*\b1\b"):
        TokenVectors(np.eye(2), [2], metadata=[1, 2])


def test_metadata_that_json_can_not_hold() -> None:
    day = datetime.date(2026, 1, 1)
    whole = pa.table({"emb": [[[1.0]]], "day": [day], "days": [[day]], "code": [b"x"], "share": [math.nan]})
    for name in ("day", "days", "code"):
        with pytest.raises(TypeError, match=f"column '{name}'"):
            exchange.from_arrow(whole, column="emb", metadata_columns=[name])
    with pytest.raises(TypeError, match="'day'"):
        exchange.from_arrow(whole, column="emb", metadata_columns="all")
    with pytest.raises(TypeError, match=r"^metadata\b"):
        exchange.from_arrow(whole, column="emb", metadata_columns=["share"]).build()
    with pytest.raises(TypeError, match=r"^metadata_columns.*'day'"):
        exchange.from_arrow(whole, column="emb", metadata_columns="day")
    with pytest.raises(ValueError, match="column 'x'"):
        exchange.from_arrow(whole, column="emb", metadata_columns=["x"])


def test_a_table_without_rows() -> None:
    kind = pa.list_(pa.list_(pa.float32(), 4))
    empty = pa.table({"id": pa.array([], pa.string()), "emb": pa.array([], kind)})
    for source in (empty, empty.to_reader(), pa.Table.from_batches([], empty.schema)):
        index = exchange.from_arrow(source).build()
        assert (len(index), index.dim) == (0, 4)


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=4),
    outer=st.sampled_from(list(OUTER)),
    inner=st.sampled_from(list(INNER)),
    skip=st.integers(0, 3),
)
def test_any_table_in_any_pieces(lengths: list[int], cuts: list[int], outer: str, inner: str, skip: int) -> None:
    rng = np.random.default_rng(len(lengths))
    rows = rng.standard_normal((sum(lengths), 4)).astype(np.float32)
    ends = np.cumsum([0, *lengths])
    nested = [rows[a:b].tolist() for a, b in pairwise(ends)]
    column = pa.array(nested, OUTER[outer](INNER[inner](pa.float32())))
    whole = pa.table({"id": list(range(len(lengths))), "emb": column})[skip:]
    bounds = sorted({0, *(min(cut, len(whole)) for cut in cuts), len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(bounds)] or [whole]
    again = pa.concat_tables(pieces)
    found = exchange.from_arrow(again, dim=4).joined()
    assert found.ids == list(range(len(lengths)))[skip:]
    assert found.lengths.tolist() == lengths[skip:]
    assert np.array_equal(found.rows, rows[ends[min(skip, len(lengths))] :])

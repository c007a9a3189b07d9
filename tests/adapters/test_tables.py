"""Vectors from LanceDB, DuckDB and Polars, in the forms in which these return them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import lancedb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import maxsieve as ms
from maxsieve import exchange

RNG = np.random.default_rng(13)
LENGTHS = [3, 7, 1, 12, 5] * 20
DOCUMENTS = [RNG.standard_normal((n, 16)).astype(np.float32) for n in LENGTHS]
IDS = [f"d{i}" for i in range(len(DOCUMENTS))]
QUERY = RNG.standard_normal((4, 16)).astype(np.float32)
COLUMNS = {"id": IDS, "emb": [doc.tolist() for doc in DOCUMENTS], "year": list(range(1900, 2000))}
FIXED = pa.list_(pa.list_(pa.float32(), 16))
TABLE = pa.table(COLUMNS, pa.schema({"id": pa.string(), "emb": FIXED, "year": pa.int32()}))


def holds_all(index: ms.Index, ids: list[Any] = IDS) -> None:
    assert index.ids == ids
    for one, rows in zip(ids, DOCUMENTS, strict=True):
        assert np.array_equal(index.vectors(one), rows)


@pytest.fixture
def lance(tmp_path: Path) -> Any:
    return lancedb.connect(tmp_path / "lance").create_table("docs", TABLE)


def test_lancedb(lance: Any) -> None:
    chunks = exchange.from_arrow(lance.to_arrow(), metadata_columns=["year"])
    index = chunks.build()
    holds_all(index)
    assert index.metadata("d7") == {"year": 1907}
    holds_all(exchange.from_arrow(lance.search().select(["id", "emb"]).limit(1000).to_batches()).build())


def test_a_lancedb_table_itself_says_what_to_do(lance: Any) -> None:
    with pytest.raises(TypeError, match=r"to_arrow\(\)"):
        exchange.from_arrow(lance)


@pytest.mark.parametrize(("distance", "similarity"), [("dot", "dot"), ("cosine", "cosine")])
def test_the_distance_of_lancedb_is_t_minus_the_score(lance: Any, distance: str, similarity: str) -> None:
    found = lance.search(QUERY).distance_type(distance).limit(10).to_arrow()
    hits = exchange.from_arrow(lance.to_arrow()).build(similarity=similarity).search(QUERY, k=10)
    assert hits.ids == found["id"].to_pylist()
    np.testing.assert_allclose(found["_distance"].to_numpy(), len(QUERY) - hits.scores, atol=1e-5)


def test_answers_of_lancedb_are_candidates(lance: Any) -> None:
    found = lance.search(QUERY).distance_type("dot").limit(10).to_arrow()
    index = exchange.from_arrow(lance.to_arrow()).build()
    assert index.search(QUERY, k=3, candidates=found["id"].to_pylist()).ids == index.search(QUERY, k=3).ids


@pytest.mark.parametrize("kind", ["float[16][]", "float[][]", "double[][]"])
def test_duckdb(kind: str) -> None:
    question = f"select id, emb::{kind} as emb, year from docs order by year"
    with duckdb.connect() as database:
        database.register("docs", TABLE)
        for ask in (lambda relation: relation, lambda relation: relation.to_arrow_reader(20)):
            index = exchange.from_arrow(ask(database.sql(question)), metadata_columns=["year"]).build()
            holds_all(index)
            assert index.metadata("d7") == {"year": 1907}


def test_duckdb_sends_what_was_asked_for() -> None:
    with duckdb.connect() as database:
        database.register("docs", TABLE)
        some = database.sql("select id, emb from docs where year >= 1990 order by year desc")
        assert exchange.from_arrow(some).build().ids == IDS[:89:-1]
        holes = "select id, case when year = 1901 then null else emb end as emb from docs order by year"
        with pytest.raises(ValueError, match=r"row 1\b"):
            exchange.from_arrow(database.sql(holes)).build()


@pytest.mark.parametrize(
    "kind", [pl.List(pl.List(pl.Float32)), pl.List(pl.Array(pl.Float32, 16)), pl.List(pl.List(pl.Float64))]
)
def test_polars(kind: Any) -> None:
    frame = pl.DataFrame(COLUMNS, schema_overrides={"emb": kind})
    holds_all(exchange.from_arrow(frame).build())
    parts = pl.concat([frame[:30], frame[30:]], rechunk=False)
    holds_all(exchange.from_arrow(parts, metadata_columns="all").build())
    assert exchange.from_arrow(frame.filter(pl.col("year") > 1997)).build().ids == IDS[98:]


def test_polars_arrays_of_one_shape() -> None:
    padded = np.stack([doc[:1] for doc in DOCUMENTS])
    frame = pl.DataFrame({"key": range(100), "emb": padded}, schema_overrides={"emb": pl.Array(pl.Float32, (1, 16))})
    index = exchange.from_arrow(frame, id_column="key").build()
    assert np.array_equal(index.vectors(7), DOCUMENTS[7][:1])


def test_a_lazy_frame_says_what_it_is_not() -> None:
    with pytest.raises(TypeError, match=r"\bLazyFrame"):
        exchange.from_arrow(pl.DataFrame(COLUMNS).lazy())

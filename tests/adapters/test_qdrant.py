"""Vectors from Qdrant, in its local mode, by scroll."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, QdrantClient, models

import maxsieve as ms
from maxsieve import exchange

RNG = np.random.default_rng(14)
DOCUMENTS = [RNG.standard_normal((1 + i % 7, 8)).astype(np.float32) for i in range(50)]
QUERY = RNG.standard_normal((3, 8)).astype(np.float32)


def multivector(distance: models.Distance = models.Distance.DOT) -> models.VectorParams:
    maxsim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    return models.VectorParams(size=8, distance=distance, multivector_config=maxsim)


def filled(vectors: Any, name: str | None = None, ids: Any = range(50)) -> QdrantClient:
    client = QdrantClient(":memory:")
    client.create_collection("docs", vectors_config=vectors)
    values = [doc.tolist() for doc in DOCUMENTS]
    points = [
        models.PointStruct(id=one, vector=value if name is None else {name: value}, payload={"title": f"T{i}", "n": i})
        for i, (one, value) in enumerate(zip(ids, values, strict=True))
    ]
    client.upsert("docs", points)
    return client


@pytest.mark.parametrize("name", [None, "colbert"])
@pytest.mark.parametrize("page", [1, 7, 50, 64])
def test_a_collection_becomes_an_index(name: str | None, page: int, tmp_path: Path) -> None:
    dense = models.VectorParams(size=4, distance=models.Distance.DOT)
    vectors = multivector() if name is None else {name: multivector(), "dense": dense}
    client = filled(vectors, name)
    index = exchange.from_qdrant(client, "docs", page=page).build(path=tmp_path / "it")
    assert sorted(index.ids) == list(range(50))
    for i, rows in enumerate(DOCUMENTS):
        assert np.array_equal(index.vectors(i), rows)
    assert index.metadata(3) == {"title": "T3", "n": 3}


@pytest.mark.parametrize("distance", [models.Distance.DOT, models.Distance.COSINE])
def test_scores_are_those_of_qdrant(distance: models.Distance) -> None:
    client = filled(multivector(distance))
    theirs = client.query_points("docs", query=QUERY.tolist(), limit=10).points
    similarity = "cosine" if distance == models.Distance.COSINE else "dot"
    hits = exchange.from_qdrant(client, "docs").build(similarity=similarity).search(QUERY, k=10)
    assert hits.ids == [point.id for point in theirs]
    np.testing.assert_allclose(hits.scores, [point.score for point in theirs], atol=1e-5)


def test_uuids_are_str() -> None:
    ids = [str(uuid.UUID(int=i + 1)) for i in range(50)]
    index = exchange.from_qdrant(filled(multivector(), ids=ids), "docs", page=8).build()
    assert sorted(index.ids) == ids
    mixed = filled(multivector(), ids=[*range(25), *ids[25:]])
    for page in (5, 64):
        with pytest.raises(TypeError, match=r"\bstr\b.*\bint\b"):
            exchange.from_qdrant(mixed, "docs", page=page).build()


def test_which_points_and_which_payload() -> None:
    client = filled(multivector())
    late = models.Filter(must=[models.FieldCondition(key="n", range=models.Range(gte=40))])
    some = exchange.from_qdrant(client, "docs", scroll_filter=late, payload=["title"]).build()
    assert sorted(some.ids) == list(range(40, 50))
    assert some.metadata(41) == {"title": "T41"}
    assert exchange.from_qdrant(client, "docs", payload=False).build().metadata(41) is None


def test_pages_are_read_as_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = filled(multivector())
    asked: list[int] = []
    scroll = client.scroll

    def counted(*given: Any, **options: Any) -> Any:
        asked.append(options["limit"])
        return scroll(*given, **options)

    monkeypatch.setattr(client, "scroll", counted)
    chunks = exchange.from_qdrant(client, "docs", page=10)
    assert asked == []
    pieces = chunks.chunks()
    assert len(next(pieces)) == 10
    assert asked == [10]
    assert [len(piece) for piece in pieces] == [10] * 4
    assert len(chunks.joined()) == 50  # again, from the beginning


def test_an_empty_collection_has_a_dimension() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("docs", vectors_config=multivector())
    index = exchange.from_qdrant(client, "docs").build()
    assert (len(index), index.dim) == (0, 8)


def test_what_is_refused() -> None:
    single = models.VectorParams(size=8, distance=models.Distance.DOT)
    both = {"a": multivector(), "b": multivector(), "dense": single}
    client = filled(both, "a")
    with pytest.raises(ValueError, match=r"collection docs: .*'a', 'b'"):
        exchange.from_qdrant(client, "docs")
    with pytest.raises(ValueError, match=r"'dense'.*'a', 'b'"):
        exchange.from_qdrant(client, "docs", vector="dense")
    with pytest.raises(ValueError, match="'x'"):
        exchange.from_qdrant(client, "docs", vector="x")
    with pytest.raises(ValueError, match=r"point 0\b.*'b'"):
        exchange.from_qdrant(client, "docs", vector="b").build()
    has = models.Filter(must=[models.HasVectorCondition(has_vector="b")])
    assert len(exchange.from_qdrant(client, "docs", vector="b", scroll_filter=has).build()) == 0
    with pytest.raises(ValueError, match="nowhere"):
        exchange.from_qdrant(client, "nowhere")
    with pytest.raises(TypeError, match="asynchronous"):
        exchange.from_qdrant(AsyncQdrantClient(":memory:"), "docs")


def test_a_server_that_fails_or_lies_leaves_the_index_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    client = filled(multivector())
    scroll = client.scroll

    def failing(*given: Any, **options: Any) -> Any:
        if options["offset"] is not None:
            raise ConnectionError("gone")
        return scroll(*given, **options)

    index = ms.Index.create(8)
    monkeypatch.setattr(client, "scroll", failing)
    with pytest.raises(ConnectionError, match="gone"):
        exchange.from_qdrant(client, "docs", page=10).add_to(index)
    monkeypatch.setattr(client, "scroll", lambda *given, **options: (scroll(*given, **options)[0], 7))
    with pytest.raises(ValueError, match="would never end"):
        list(exchange.from_qdrant(client, "docs", page=10).documents())
    monkeypatch.setattr(client, "scroll", lambda *given, **options: ([ragged], None))
    for bad, words in (
        ([[1.0] * 8, [1.0]], "point 1 "),
        ([[1.0]], r"\b1\b.*\b8\b"),
    ):
        ragged = models.Record(id=1, vector=bad, payload=None)
        with pytest.raises(ValueError, match=words):
            exchange.from_qdrant(client, "docs").add_to(index)
    assert len(index) == 0

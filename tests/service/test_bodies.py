"""Bodies that are large or strange: what is made of them is limited, and others don't wait for it."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
from fastapi import HTTPException

from maxsieve.service import bodies, strict
from maxsieve.service.bodies import read_json
from maxsieve.service.settings import CHARACTERS, DIMENSIONS, VALUES
from service.support import Served, detail

JSON = {"Content-Type": "application/json"}
SEARCH = "/v1/collections/docs/search"
RERANK = {"query": "river", "texts": ["river", "owl"]}
MANY = b",".join([b"[]"] * 5_000_000)
"""15 MB of JSON, and a gigabyte of objects."""


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The calls of the parser: the thread, and the commas and brackets of its text."""
    calls: list[tuple[str, int]] = []
    parse = bodies.from_json

    def spy(text: bytes, **options: Any) -> Any:
        calls.append((threading.current_thread().name, sum(map(text.count, (b",", b"[", b"{")))))
        return parse(text, **options)

    monkeypatch.setattr(bodies, "from_json", spy)
    return calls


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEARCH, b'{"vectors": [' + b",".join([b"[" + b",".join([b'""'] * 4096) + b"]"] * 1024) + b"]}"),
        (SEARCH, b'{"vectors": [' + MANY + b"]}"),
        (SEARCH, b'{"query": "a", "where": {"a": {"in": [' + b",".join([b"1"] * 5_000_000) + b"]}}}"),
        (SEARCH, b'{"query": "a", "candidates": [' + b",".join([b"1"] * 5_000_000) + b"]}"),
        (SEARCH, b'{"query": "a", "vectors": [[' + b",".join([b"1"] * 5_000_000) + b"]]}"),
        (SEARCH, b"{" + b",".join(b'"%d":0' % i for i in range(1_000_000)) + b"}"),
        (SEARCH, b"[" + MANY + b"]"),
        ("/rerank", b'{"query": "a", "texts": ["b"], "ignored": [' + MANY + b"]}"),
        ("/rerank", b'{"query": "a", "texts": [' + b",".join([b"0"] * 5_000_000) + b"]}"),
        ("/rerank", b'{"query": "a", "texts": [' + b'""' * 5_000_000 + b"]}"),
        ("/rerank", b'{"query": "a", "documents": [' + b",".join([b"{}"] * 3_000_000) + b"]}"),
    ],
)
def test_values_are_counted_before_they_are_made(
    shared: Served, parsed: list[tuple[str, int]], path: str, body: bytes
) -> None:
    answer = shared.client.post(path, content=body, headers=JSON)
    assert answer.status_code == 413
    assert f"{VALUES:,} values" in detail(answer)
    assert max((count for _, count in parsed), default=0) <= DIMENSIONS
    assert shared.client.post("/rerank", json=RERANK).status_code == 200


def test_large_bodies_are_read_on_a_thread_of_their_own(shared: Served, parsed: list[tuple[str, int]]) -> None:
    body = {**RERANK, "ignored": "x" * strict.SMALL}
    assert shared.client.post("/rerank", json=body).status_code == 200
    assert {name.partition("_")[0] for name, _ in parsed} == {"large"}


def test_a_check_fails_at_the_first_error(shared: Served) -> None:
    for path, body in (
        (SEARCH, {"vectors": [["1"] * 100] * 500}),
        (SEARCH, {"query": "a", "candidates": [1.5] * 10_000}),
        ("/rerank", {"query": "a", "texts": [1] * 1000}),
        ("/rerank", {"query": "a", "top_k": 1, "documents": [1] * 1000}),
        ("/v1/collections/docs/documents", {"documents": [{}] * 1000}),
    ):
        answer = shared.client.post(path, json=body)
        assert answer.status_code == 422
        assert ".0" in detail(answer)
        assert "more)" not in detail(answer) or "(and 1 more)" in detail(answer)  # an id may be a number or a text


def test_many_unknown_fields(shared: Served) -> None:
    answer = shared.client.post(SEARCH, json={"query": "a", **{f"field {i}": 0 for i in range(VALUES - 10)}})
    assert answer.status_code == 422
    assert detail(answer) == "the body: Value error, there is no field 'field 0'"


def test_vectors_of_any_size_are_the_same_numbers(shared: Served, parsed: list[tuple[str, int]]) -> None:
    """However they are read. Numbers are written as the client likes."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((1000, 200))
    rows[0, :4] = 0, -0.0, 1e-45, 16777217
    text = json.dumps({"k": 3, "vectors": rows.tolist(), "exclude": ["a", "]"]})
    for form in (text, text.replace(",", " ,\n").replace("[", "[ "), text.replace('"k"', '"\\"k" : 1, "k"')):
        found = read_json(form.encode())
        assert isinstance(found["vectors"], tuple)
        assert (found["k"], found["exclude"]) == (3, ["a", "]"])
        expected = np.array(json.loads(form)["vectors"], np.float32)
        assert np.array(found["vectors"]).tobytes() == expected.tobytes()
    assert max(count for _, count in parsed) <= DIMENSIONS
    few = read_json(json.dumps({"vectors": rows[:2].tolist()}).encode())["vectors"]
    assert few == rows[:2].tolist()


@pytest.mark.parametrize(
    "change",
    [
        ("[[", "[[[1],", 1),
        ("[[", "[", 1),
        ("]]", "],]", 1),
        ("]]", "]", 1),
        ("]]", "]]]", 1),
        ("]]", "], 1]", 1),
        ("], [", "] [", 1),
        ("0.5", "true", 1),
        ("0.5", "null", 1),
        ("0.5", ".5", 1),
        ("0.5", "NaN", 1),
        ("0.5", "1" + "0" * 400, 1),
        ("0.5", '"0.5"', 1),
        ('"vectors"', '"where": {"vectors"', 1),
    ],
)
def test_large_vectors_are_read_as_strictly(change: tuple[str, str, int]) -> None:
    text = json.dumps({"vectors": [[0.5] * 200] * 1000})
    with pytest.raises(HTTPException) as refused:
        read_json(text.replace(*change).encode())
    assert refused.value.status_code in (400, 413)


def test_a_search_with_the_largest_vectors(shared: Served) -> None:
    wide = [[0.25] * 1000] * 200
    answer = shared.search(vectors=wide)
    assert answer.status_code == 400
    assert "dim" in detail(answer)
    assert "dim" in detail(shared.search(vectors=[[0.25] * 17]))
    assert "the same length" in detail(shared.search(vectors=[[0.25] * 17, [1.0]]))


def test_vectors_of_another_dimension_are_refused_at_the_first_row(
    shared: Served, parsed: list[tuple[str, int]]
) -> None:
    answer = shared.search(vectors=[[0.25] * 1000] * 200)
    assert answer.status_code == 400
    assert detail(answer).endswith("and the rows have 1000")
    assert parsed == []


def test_counting_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[int] = []
    count = np.count_nonzero

    def spy(block: Any) -> int:
        blocks.append(len(block))
        return int(count(block))

    monkeypatch.setattr(np, "count_nonzero", spy)
    strings, arrays = b'["' + b'","' * 5_000_000 + b'"]', b"[" + MANY + b"]"
    # two passes for quotes and backslashes, and three for commas and brackets
    for body, counted in ((strings, 2 * 3 * bodies.BLOCK), (arrays, 2 * len(arrays) + 3 * bodies.BLOCK)):
        blocks.clear()
        with pytest.raises(HTTPException) as refused:
            read_json(body)
        assert refused.value.status_code == 413
        assert sum(blocks) == counted


def test_a_field_that_is_named_again_is_read_once(shared: Served) -> None:
    document = {"text": "river", "title": "owl"}

    def ranked(fields: list[str]) -> Any:
        body = {"query": "river", "documents": [document], "rank_fields": fields}
        return shared.client.post("/rerank", json=body).json()["results"]

    assert ranked(["text", "title"] * 50) == ranked(["text", "title"])
    assert ranked(["title"]) != ranked(["text", "title"])
    long = {"query": "a", "documents": [{"text": "x" * (CHARACTERS // 50)}], "rank_fields": ["text"] * 100}
    assert shared.client.post("/rerank", json=long).status_code == 200

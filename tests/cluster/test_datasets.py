"""Ray datasets into shards: workers on the nodes encode them, in the order of rows, even if processes die."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from long_form import scaled
from maxsieve.errors import MaxsieveError
from maxsieve.text.collection import additions as text_adding
from maxsieve.text.collection import collection_encoder
from maxsieve.text.collection.additions import OtherDocumentError
from maxsieve.text.collection.collection import Collection
from maxsieve.text.distributed import add as adding
from maxsieve.text.distributed import encoders as encoding
from maxsieve.text.distributed import staged as staging
from text.support import ShortSighted, sentences

from . import adder
from .encoders import IMPORTABLE, HeavyEncoder, LargeEncoder, LoggingEncoder, logged
from .test_adding import LONG, content, kill_until_done

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray Data sets its own deprecated options


class Sharp(ShortSighted):
    """Is sent to workers without its log."""

    def __init__(self) -> None:
        super().__init__(seen=len)

    def __reduce__(self) -> tuple[object, ...]:
        return Sharp, ()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_adding, "BATCH_DOCUMENTS", 7)
    monkeypatch.setattr(adding, "COMMIT_BYTES", 5 * 4096)


@pytest.fixture
def made() -> Iterator[list[Collection]]:
    """Collections that are closed at the end of the test."""
    all_of_them: list[Collection] = []
    yield all_of_them
    for one in all_of_them:
        one.close()


def test_a_dataset_gives_what_one_collection_would_hold_and_find(
    cluster: Any, tmp_path: Path, small: None, made: list[Collection]
) -> None:
    import ray

    texts = [*sentences(80), LONG, "", *sentences(60, start=80)]
    rows = [{"id": f"é{i}", "body": text, "year": 1990 + i % 30, "tags": [i % 3, None]} for i, text in enumerate(texts)]
    one = Collection.create(tmp_path / "one", Sharp(), 6)
    one.add(iter(texts), (row["id"] for row in rows), ({"year": row["year"], "tags": row["tags"]} for row in rows))
    many = Collection.create(tmp_path / "many", Sharp(), 6, shards=3)
    made.append(many)
    dataset = ray.data.from_items(rows, override_num_blocks=9)
    columns = {"text": "body", "id": "id", "metadata": ["year", "tags"], "worker_options": IMPORTABLE}
    assert many.add(dataset, **columns) == (len(texts), 0, 0)
    assert content(many) == content(one)
    assert many.add(dataset, **columns) == (0, len(texts), 0)
    with pytest.raises(OtherDocumentError, match=r"'é0'.*metadata"):
        many.add(dataset, **columns | {"metadata": None})

    queries = ["w3 w14 w15", "Sentence 40 is", "n7 w1"]
    options: list[dict[str, Any]] = [
        {"policy": policy} for policy in (None, ms.Exhaustive(), ms.Bandit(alpha=0.2, margin=0, block=1))
    ]
    options += [
        {"where": {"year": {"gte": 2005}}},
        {"candidates": ["é80", "é3", "é4"]},
        {"exclude": one.search(queries[0]).ids[:3]},
        {"candidates": np.arange(len(texts)) % 2 == 0},
        {"first_stage": lambda query, depth: [f"é{i}" for i in range(0, depth, 2)], "depth": 100},
    ]
    for option in options:
        expected = one.search_many(queries, 5, **option)
        found = many.search_many(queries, 5, **option)
        for want, got in zip(expected, found, strict=True):
            assert list(got) == list(want), option
            assert (got.texts, got.metadata, got.passages) == (want.texts, want.metadata, want.passages)
            assert (got.scope, got.n_documents, got.has_passages) == (want.scope, want.n_documents, want.has_passages)
            assert (got.report.guarantee, got.report.coverage) == (want.report.guarantee, want.report.coverage)
            assert got.first_stage == want.first_stage
            assert [got.explain(rank) for rank in range(2)] == [want.explain(rank) for rank in range(2)]
    for lexical in ({"first_stage": "bm25"}, {"hybrid": "rrf"}, {"hybrid": 0.4}):
        got, want = many.search("w3", **lexical), one.search("w3", **lexical)
        assert (got.ids, got.scores.tobytes()) == (want.ids, want.scores.tobytes())

    for collection in (one, many):
        collection.calibrate(k=10)
        collection.delete(["é80", "é5"])
        collection.compact()
    assert content(many) == content(one)
    many.rebalance(5)
    assert content(many) == content(one)
    assert len(many.info()["shards"]) == 5
    want, got = (which.search("w3 w14 w15", policy=ms.Calibrated(0.9)) for which in (one, many))
    assert list(got) == list(want)
    assert (got.report.guarantee, got.report.survivors, got.report.calibrated_on, got.report.deleted) == (
        want.report.guarantee,
        want.report.survivors,
        want.report.calibrated_on,
        want.report.deleted,
    )
    facts, expected_facts = many.info(), one.info()
    for name in ("documents", "passages", "tokens", "dim", "store", "encoder", "projection", "codebook"):
        assert facts[name] == expected_facts[name], name
    many.verify()
    many.recalibrate()


def test_rows_that_are_wrong_are_named(cluster: Any, tmp_path: Path, made: list[Collection]) -> None:
    import ray

    many = Collection.create(tmp_path / "many", Sharp(), shards=2)
    made.append(many)

    def add(rows: list[dict[str, Any]], **options: Any) -> None:
        many.add(ray.data.from_items(rows), **{"text": "body", "id": "id", **options})

    good = [{"id": i, "body": f"text {i}", "more": 1.5} for i in range(3)]
    for bad, error, says in [
        ({"id": 3, "body": None, "more": 1.5}, TypeError, "row 3, column 'body': .*text"),
        ({"id": None, "body": "a", "more": 1.5}, TypeError, "row 3, column 'id': "),
        ({"id": 3, "body": "a", "more": float("nan")}, TypeError, "row 3, column 'more': metadata"),
    ]:
        with pytest.raises(error, match=says):
            add([*good, bad], metadata=["more"])
    with pytest.raises(ValueError, match=r"column 'text'.*'id', 'body', 'more'"):
        add(good, text="text")
    with pytest.raises(TypeError, match=r"row 0, column 'more': .*\bid\b.*\bfloat"):
        add(good, id="more")
    with pytest.raises(TypeError, match="row 0, column 'more': metadata"):
        add([{"id": 1, "body": "a", "more": Decimal(1)}], metadata="more")
    with pytest.raises(ValueError, match=r"dataset.*columns"):
        many.add(ray.data.from_items(good))
    with pytest.raises(TypeError, match=r"columns.*dataset.*texts is list"):
        many.add(["a"], text="body")
    assert len(many) == 0
    assert many.add(ray.data.from_items([]), text="body", id="id") == (0, 0, 0)
    add(good)
    assert many.ids == [0, 1, 2]


def test_a_worker_that_is_killed_costs_its_batch_only(
    cluster: Any, tmp_path: Path, small: None, made: list[Collection]
) -> None:
    texts, log = sentences(100), tmp_path / "log"
    many = Collection.create(tmp_path / "many", LoggingEncoder(log, kill_at="n40 "), shards=3)
    made.append(many)
    assert many.add(texts, range(100), workers=2, worker_options=IMPORTABLE) == (100, 0, 0)
    assert log.with_suffix(".killed").exists()
    one = Collection.create(tmp_path / "one", Sharp())
    one.add(texts, range(100))
    assert content(many)[1:] == content(one)[1:]
    again = {text for text, count in Counter(logged(log)).items() if count > 1}
    assert "n40" in {text.split()[0] for text in again}
    assert again <= set(texts[35:42]) | set(texts[42:49]) | set(texts[28:35]), "the batches that it had been given"


def test_a_worker_with_a_large_encoder_is_started_again(
    cluster: Any, tmp_path: Path, small: None, made: list[Collection], capfd: pytest.CaptureFixture[str]
) -> None:
    texts, log = sentences(60), tmp_path / "log"
    many = Collection.create(tmp_path / "many", LargeEncoder(log, kill_at="n40 "), shards=2)
    made.append(many)
    assert many.add(texts, range(60), workers=1, worker_options=IMPORTABLE) == (60, 0, 0)
    assert log.with_suffix(".killed").exists()
    assert many.ids == list(range(60))
    assert "the actor restart will fail" not in capfd.readouterr().err, "Ray has seen that it could not be"


def test_a_text_that_kills_every_worker_is_named(
    cluster: Any, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "RETRIES", 1)
    texts, log = sentences(30), tmp_path / "log"
    many = Collection.create(tmp_path / "many", LoggingEncoder(log, kill_at="n15 ", always=True), shards=2)
    with pytest.raises(MaxsieveError, match=r"^documents 14 to 20\b[^\n]*$"):
        many.add(texts, range(30), workers=1, worker_options=IMPORTABLE)
    many.close()


def test_an_encoder_that_nodes_do_not_have_is_said_in_one_line(cluster: Any, tmp_path: Path, small: None) -> None:
    many = Collection.create(tmp_path / "many", LoggingEncoder(tmp_path / "log"), shards=2)
    says = r"^documents 0 to 6\b[^\n]*No module named 'cluster'[^\n]*$"
    with pytest.raises(MaxsieveError, match=says):
        many.add(sentences(30), range(30), workers=1)
    assert len(many) == 0
    many.close()


def test_workers_that_ask_for_more_than_there_is(cluster: Any) -> None:
    import ray

    there = ray.cluster_resources()
    for options, says in [
        ({"num_gpus": 1}, r"\b2 GPU\b.*\b2 workers\b.*\b0\b"),
        ({"num_cpus": there["CPU"] / 2}, "CPU for 2 workers"),
        ({"resources": {"much": 3}}, "6 much for 2 workers"),
    ]:
        with pytest.warns(UserWarning, match=says):
            encoding.warn_if_too_few(there, 2, options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding.warn_if_too_few(there, 2, {"num_cpus": (there["CPU"] - 1) / 2, "num_gpus": 0})


def test_a_driver_that_is_killed_again_and_again(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_encoder, "SAMPLE_DOCUMENTS", adder.SAMPLE)
    kill_until_done(tmp_path, 150, ["2", cluster.address], kills=scaled(3), most_texts=80, fewest=2)


def test_a_lazy_dataset_is_taken_in_bounded_room(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[Collection]
) -> None:
    """Rows are made when they are needed. All encoded rows would be 30 times what is staged at any time."""
    import ray

    monkeypatch.setattr(text_adding, "BATCH_DOCUMENTS", 16)
    monkeypatch.setattr(adding, "COMMIT_BYTES", 500_000)
    many = Collection.create(tmp_path / "c", HeavyEncoder(), shards=2)
    made.append(many)
    staged: list[int] = []
    real = adding.Additions._take

    def watch(self: Any, outcome: Any) -> None:
        staged.append(staging.staged_bytes(many.path))
        real(self, outcome)

    monkeypatch.setattr(adding.Additions, "_take", watch)

    def to_text(batch: dict[str, Any]) -> dict[str, Any]:
        return {"id": batch["id"], "text": np.array([f"number {i}" for i in batch["id"]])}

    rows = 3000
    dataset = ray.data.range(rows, override_num_blocks=20).map_batches(to_text, batch_size=100)
    assert many.add(dataset, text="text", id="id", workers=2, worker_options=IMPORTABLE) == (rows, 0, 0)
    assert many.ids == list(range(rows))
    batch = 16 * (8 * 512 + 500)  # documents, tokens, dimensions, and the overhead of each
    assert max(staged) <= 500_000 + batch + encoding.AHEAD * 2 * batch < rows * 8 * 512 / 8


def test_minilm_on_two_workers_gives_the_bits_of_one_collection(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[Collection]
) -> None:
    import ray

    from maxsieve.text import fetch_model

    fetch_model("minilm")
    monkeypatch.setattr(text_adding, "BATCH_CHARACTERS", 400)
    texts = [f"Page {i} tells of {word} and of the number {i * i}." for i, word in enumerate("abcdefghijkl" * 3)]
    one = Collection.create(tmp_path / "one", "minilm", 32)
    one.add(iter(texts), range(len(texts)))
    many = Collection.create(tmp_path / "many", "minilm", 32, shards=2)
    made.append(many)
    dataset = ray.data.from_items([{"id": i, "text": text} for i, text in enumerate(texts)])
    many.add(dataset, text="text", id="id", workers=2)
    assert content(many) == content(one)
    assert list(many.search("which page tells of c?", k=5)) == list(one.search("which page tells of c?", k=5))

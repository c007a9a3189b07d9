"""After an interruption, adding the same texts continues: nothing is lost, and no stored text is encoded again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from long_form import scaled
from maxsieve.text.collection import additions, collection_encoder
from maxsieve.text.collection.collection import Collection

from . import adder
from .support import WordEncoder, kill_after, sentences, start_python

COUNT = 150


def test_killed_again_and_again_it_still_gets_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_encoder, "SAMPLE_DOCUMENTS", adder.SAMPLE)
    texts, rng = sentences(COUNT), random.Random(3)
    Collection.create(tmp_path / "c", WordEncoder(), adder.DIM).close()
    kills = useful = 0
    for _ in range(scaled(40, at_least=40)):
        with Collection.open(tmp_path / "c", WordEncoder()) as before:
            inside = {before.text(one) for one in before.ids}
        with start_python(adder.__file__, str(tmp_path / "c"), str(COUNT)) as process:
            seen = kill_after(process, rng.randint(1, 60))
        encoded = {line.strip() for line in seen if line.endswith("\n")}
        assert not encoded & inside, "what is in is not encoded again"
        if process.returncode == 0:
            break
        kills += 1
        with Collection.open(tmp_path / "c", WordEncoder()) as after:
            after.verify()
            useful += len(after) > len(inside) > 0
            assert after.ids == list(range(len(after))), "whole batches, in order"
    assert process.returncode == 0
    assert kills > 3
    assert useful > 1, "several runs added something to what an earlier one had"

    fresh = Collection.create(tmp_path / "fresh", WordEncoder(), adder.DIM)
    fresh.add(texts, range(COUNT), [{"of": text} for text in texts])
    assert _content(Collection.open(tmp_path / "c", WordEncoder())) == _content(fresh)


def _content(collection: Collection) -> list[object]:
    hits = collection.search("w3 w14 w15", k=20)
    documents = [(one, collection.text(one), collection.metadata(one)) for one in collection.ids]
    vectors = [collection.index.vectors(key).tobytes() for key in collection.index.ids]
    return [documents, vectors, hits.ids, hits.scores.tolist(), hits.texts]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "BATCH_DOCUMENTS", 10)
    monkeypatch.setattr(additions, "LOOKUPS", 4)


def _failing(texts: list[str], after: int) -> Iterator[str]:
    yield from texts[:after]
    raise KeyboardInterrupt


@pytest.mark.usefixtures("small")
def test_an_interrupted_stream_keeps_the_batches_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_encoder, "SAMPLE_DOCUMENTS", 20)
    texts, encoder = sentences(60), WordEncoder()
    collection = Collection.create(tmp_path / "c", encoder, dim=4)
    with pytest.raises(KeyboardInterrupt):
        collection.add(_failing(texts, 45))
    inside = [collection.text(one) for one in collection.ids]
    assert inside == texts[:40]
    encoder.encoded.clear()
    assert collection.add(texts) == (20, 40, 0)
    assert encoder.encoded == texts[40:]
    assert [collection.text(one) for one in collection.ids] == texts
    encoder.encoded.clear()
    assert collection.add(iter(texts)) == (0, 60, 0)
    assert encoder.encoded == []


@pytest.mark.usefixtures("small")
def test_an_encoder_that_fails_costs_its_own_batch_only(tmp_path: Path) -> None:
    def fail(text: str) -> None:
        if text.startswith("n25 "):
            raise RuntimeError("out of memory")

    texts = sentences(40)
    collection = Collection.create(tmp_path / "c", WordEncoder(seen=fail), dim=None)
    with pytest.raises(RuntimeError, match="out of memory"):
        collection.add(texts, range(40))
    assert collection.ids == list(range(20))
    again = Collection.open(collection.path, WordEncoder())
    assert again.add(texts, range(40)) == (20, 20, 0)
    assert again.ids == list(range(40))


@pytest.mark.usefixtures("small")
def test_what_was_replaced_is_not_replaced_again(tmp_path: Path) -> None:
    old, new = sentences(30), sentences(30, start=100)
    encoder = WordEncoder()
    collection = Collection.create(tmp_path / "c", encoder, dim=None)
    collection.add(old, range(30))
    with pytest.raises(KeyboardInterrupt):
        collection.add(_failing(new, 25), range(30), replace=True)
    encoder.encoded.clear()
    assert collection.add(new, range(30), replace=True) == (0, 20, 10)
    assert encoder.encoded == new[20:]
    assert [collection.text(i) for i in range(30)] == new


@pytest.mark.usefixtures("small")
def test_many_commits_leave_few_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)  # nothing is merged in between
    most = 0

    def watch(text: str) -> None:
        nonlocal most
        most = max(most, collection.info()["segments"])

    collection = Collection.create(tmp_path / "c", WordEncoder(seen=watch), dim=None)
    monkeypatch.setattr(additions, "COMMITS", 20)
    texts = sentences(1000)
    collection.add(texts, range(1000))
    assert 15 < most <= 20, "merged while more come"
    assert collection.info()["segments"] <= additions.FEW_SEGMENTS
    assert collection.ids == list(range(1000))
    for start in range(1000, 1100, 10):
        collection.add(sentences(10, start), range(start, start + 10))
        assert collection.info()["segments"] <= additions.FEW_SEGMENTS + 1


def test_memory_is_bounded_by_batches_not_by_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "BATCH_CHARACTERS", 2000)
    read = 0

    def stream() -> Iterator[str]:
        nonlocal read
        for read, text in enumerate(sentences(1000), 1):  # noqa: B007 - read outside
            yield text

    ahead: list[int] = []
    collection = Collection.create(
        tmp_path / "c", WordEncoder(seen=lambda _: ahead.append(read - len(collection))), dim=None
    )
    collection.add(stream())
    assert len(collection) == 1000
    assert max(ahead) < 200


def test_a_batch_is_cut_by_characters_and_by_number() -> None:
    assert [len(batch) for batch in additions.batches(["x" * 1000] * 300, len)] == [132, 132, 36]
    assert [len(batch) for batch in additions.batches([""] * 3000, len)] == [1024, 1024, 952]
    assert [len(batch) for batch in additions.batches(["x" * 10**6] * 3, len)] == [1, 1, 1]
    assert list(additions.batches([], len)) == []


def test_progress_is_shown_with_rate_and_time_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=4)
    collection.add(sentences(60), progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "fitting" in shown.err
    assert "adding" in shown.err
    assert "60/60" in shown.err
    assert "tokens a second" in shown.err
    assert np.isfinite(collection.search("w1").scores).all()

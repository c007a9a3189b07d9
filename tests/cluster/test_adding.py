"""Texts added to shards, in one process: the content of one collection, each document once, after any interruption."""

from __future__ import annotations

import errno
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from long_form import scaled
from maxsieve.cluster.manifest import read_cluster
from maxsieve.text.collection import additions as text_adding
from maxsieve.text.collection import collection_encoder
from maxsieve.text.collection.additions import OtherDocumentError
from maxsieve.text.collection.collection import Collection
from maxsieve.text.distributed import add as adding
from maxsieve.text.distributed import encoders as encoding
from maxsieve.text.distributed import staged as staging
from text.support import ShortSighted, WordEncoder, sentences, start_python

from . import adder
from .encoders import HeavyEncoder, LoggingEncoder, logged

FURTHER = 8
"""How many texts may be encoded while a process is being killed."""
LONG = " ".join(f"Sentence {i} is here." for i in range(100))


def content(collection: Collection | Collection) -> list[Any]:
    """The content of a collection, in order, with the bits of vectors."""
    keys = collection.index.ids
    documents = [(one, collection.text(one), collection.metadata(one)) for one in collection.ids]
    return [keys, documents, [collection.index.vectors(key).tobytes() for key in keys]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_adding, "BATCH_DOCUMENTS", 5)
    monkeypatch.setattr(adding, "COMMIT_BYTES", 3 * 4096)


@pytest.fixture
def pair(tmp_path: Path, small: None) -> tuple[Collection, Collection]:
    encoder = ShortSighted()
    return (
        Collection.create(tmp_path / "one", encoder),
        Collection.create(tmp_path / "many", encoder, shards=3),
    )


def test_the_same_additions_give_the_same_content(pair: tuple[Collection, Collection]) -> None:
    one, many = pair
    texts = [*sentences(40), LONG, "", "日本 \ud800"]
    ids = [f"é{i}#p1" if i % 3 else f"{i}" for i in range(len(texts))]
    steps: list[Any] = [
        ((texts[:20], ids[:20], [{"i": i} for i in range(20)]), {}),
        ((texts, ids, [{"i": i} if i < 20 else None for i in range(len(texts))]), {}),
        ((texts[10:][::-1], ids[10:], None), {"replace": True}),
        (([LONG + " More.", "short"], ["new", ids[40]], ["x", ["y", 1.5]]), {"replace": True}),
        (([], [], []), {}),
    ]
    for arguments, options in steps:
        assert many.add(*arguments, **options, workers=0) == one.add(*arguments, **options)
        assert content(many) == content(one)
    one.delete(gone := ["new", ids[3]])
    many.index.storage.folder.delete(many.keys.of_all(gone, many.index.storage.snapshot, "delete"))  # in this process
    many.refresh()
    assert content(many) == content(one)
    assert len(many) == len(one)
    assert [one in many for one in (ids[3], "new", ids[4], 7, True)] == [False, False, True, False, False]
    many.verify()
    assert os.listdir(many.path / staging.STAGING) == []


def test_ids_may_be_numbers_or_derived_and_a_stream_is_taken_as_it_comes(tmp_path: Path, small: None) -> None:
    texts = sentences(30)
    for number, split in enumerate((True, False)):
        made = [
            Collection.create(tmp_path / f"one{number}", ShortSighted(), 6, split=split),
            Collection.create(tmp_path / f"many{number}", ShortSighted(), 6, shards=4, split=split),
        ]
        for collection in made:
            options = {"workers": 0} if isinstance(collection, Collection) else {}
            collection.add(iter(texts), (i - 5 for i in range(30)), **options)
            with pytest.raises(TypeError, match=r"\bint ids"):
                collection.add(["x"], **options)
        assert content(made[0]) == content(made[1])
    derived = Collection.create(tmp_path / "derived", ShortSighted(), shards=2)
    assert derived.add([*texts, *texts[:7]], workers=0) == (30, 7, 0)
    assert [derived.text(one) for one in derived.ids] == texts


def test_an_id_that_comes_twice(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    many = Collection.create(tmp_path / "many", ShortSighted(), shards=3)
    texts = sentences(30)
    with pytest.raises(ValueError, match="'a'"):
        many.add(texts[:2], ["a", "a"], workers=0)
    stream = text_adding.read_documents

    def endless(*arguments: Any, **_: Any) -> Iterator[Any]:
        return stream(*arguments, endless=True)

    monkeypatch.setattr("maxsieve.text.collection.collection.read_documents", endless)
    ids = [f"{i}" for i in range(30)]
    for place in (1, 4, 8, 29):  # in the same batch, gathered, committed
        again = ids.copy()
        again[place] = "0"
        for replace in (False, True):
            new = Collection.create(tmp_path / f"{place}{replace}", ShortSighted(), shards=3)
            with pytest.raises(ValueError, match="'0'"):
                new.add(texts, again, replace=replace, workers=0)
            new.refresh()
            assert not len(new) or new.text("0") == texts[0]
    for place in (1, 4, 8, 29):
        same = texts.copy()
        same[place], again = texts[0], ids.copy()
        again[place] = "0"
        added = many.add(same, again, workers=0)
        assert added.added + added.skipped == 30
    assert sorted(many.ids, key=int) == ids
    assert many.text("0") == texts[0]


def test_other_content_under_an_id_that_is_in(pair: tuple[Collection, Collection]) -> None:
    _, many = pair
    many.add(["a fox", LONG], ["fox", "long"], [None, 1], workers=0)
    before = content(many)
    for text, record, what in (("a cat", None, "another text"), ("a fox", 1, "other metadata")):
        with pytest.raises(OtherDocumentError, match=f"'fox'.*{what}"):
            many.add(["new", text], ["new", "fox"], [None, record], workers=0)
    with pytest.raises(OtherDocumentError, match="'long'"):
        many.add([LONG + "!"], ["long"], [1], workers=0)
    assert content(many) == before
    assert many.add([LONG + "!"], ["long"], [1], replace=True, workers=0) == (0, 0, 1)
    assert many.add(["short"], ["long"], [1], replace=True, workers=0) == (0, 0, 1)
    assert (many.text("long"), many.ids, many.index.ids) == ("short", ["fox", "long"], ["fox", "long"])
    many.verify()


def test_killed_again_and_again_it_still_gets_there(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collection_encoder, "SAMPLE_DOCUMENTS", adder.SAMPLE)
        kill_until_done(tmp_path, 120, ["0"], kills=scaled(12, at_least=6), most_texts=50)


def kill_until_done(
    tmp_path: Path, count: int, options: list[str], kills: int, most_texts: int, fewest: int = 3
) -> None:
    """Runs an adder, kills it at random moments so many times, then lets it finish; checks the content each time."""
    texts, rng = sentences(count), random.Random(7)
    path, log = tmp_path / "c", tmp_path / "log"
    Collection.create(path, LoggingEncoder(log), adder.DIM, shards=3).close()
    useful = 0
    for run in range(kills + 1):
        with Collection.open(path, LoggingEncoder(log)) as before:
            inside = {before.text(one) for one in before.ids}
            generation = before.index.storage.snapshot.manifest.generation
        start = len(logged(log))
        with start_python(adder.__file__, str(path), str(count), str(log), *options) as process:
            assert process.stdin is not None
            if run < kills:
                wanted, commits = start + rng.randint(1, most_texts), generation + rng.randint(1, 2)
                if options == ["0"]:  # without workers it encodes so many texts, then waits
                    process.stdin.write("\n" * (most_texts + FURTHER))
                    process.stdin.flush()
                    most = start + most_texts + FURTHER
                else:
                    most = start + count + 1
                while process.poll() is None and (
                    read_cluster(path).generation < commits and len(logged(log)) < most
                    if run % 2
                    else len(logged(log)) < wanted
                ):
                    time.sleep(0.002)
                process.kill()
            else:
                process.stdin.close()
        encoded = Counter(logged(log)[start:])
        assert not encoded.keys() & inside, "what is in is not encoded again"
        with Collection.open(path, LoggingEncoder(log)) as after:
            after.verify()
            useful += len(after) > len(inside)
            assert after.ids == list(range(len(after))), "whole commits, in order"
        if process.returncode == 0:
            break
    assert process.returncode == 0
    assert useful >= fewest, "several runs added something"
    with Collection.open(path, LoggingEncoder(log)) as after:
        one = Collection.create(tmp_path / "one", WordLike(), adder.DIM)
        one.add(texts, range(count), [{"of": text} for text in texts])
        assert content(after) == content(one)


class WordLike(ShortSighted):
    """The vectors of `LoggingEncoder`, without the file."""

    def __init__(self) -> None:
        super().__init__(name="logging")


def test_what_was_staged_is_not_encoded_again(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    log, texts = tmp_path / "log", sentences(23)
    many = Collection.create(tmp_path / "many", LoggingEncoder(log), shards=2)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(adding, "COMMIT_BYTES", 1 << 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adding, "write_shard", stop)
        with pytest.raises(KeyboardInterrupt):
            many.add(texts, workers=0)
    assert len(many) == 0
    assert logged(log) == texts
    assert many.add(texts, workers=0) == (23, 0, 0)
    assert logged(log) == texts, "all batches were found"
    assert [many.text(one) for one in many.ids] == texts


@pytest.mark.parametrize("where", ["staged.write_segment", "staged.write_sealed", "shard"])
def test_a_full_disk_changes_nothing_and_is_said(
    pair: tuple[Collection, Collection], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    one, many = pair
    texts = sentences(40)
    many.add(texts[:10], range(10), workers=0)
    before = content(many)
    full = OSError(errno.ENOSPC, "No space left on device", "the disk")
    calls = 0

    def fail(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise full
        return real(*arguments)

    name = "maxsieve.storage.directory.write_segment" if where == "shard" else f"maxsieve.text.distributed.{where}"
    module, _, attribute = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[attribute]), attribute)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name, fail)
        patch.setattr(adding, "COMMIT_BYTES", 1 << 40)
        with pytest.raises(OSError, match="No space left"):
            many.add(texts, range(40), workers=0)
    many.refresh()
    assert content(many) == before
    many.verify()
    assert not list(many.path.rglob("*.tmp"))
    assert many.add(texts, range(40), workers=0) == (30, 10, 0)
    one.add(texts, range(40))
    assert content(many) == content(one)


def test_what_is_staged_and_what_is_read_ahead_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_adding, "BATCH_DOCUMENTS", 8)
    monkeypatch.setattr(adding, "COMMIT_BYTES", 300_000)
    many = Collection.create(tmp_path / "c", HeavyEncoder(), shards=2)
    read, ahead, staged = 0, list[int](), list[int]()

    def stream() -> Iterator[str]:
        nonlocal read
        for read, text in enumerate(sentences(400), 1):  # noqa: B007 - read outside
            yield text

    real = encoding.stage

    def watch(*arguments: Any) -> Any:
        batch = real(*arguments)
        staged.append(staging.staged_bytes(many.path))
        ahead.append(read - len(Collection.open(many.path, HeavyEncoder())))
        return batch

    monkeypatch.setattr(encoding, "stage", watch)
    many.add(stream(), workers=0)
    batch = 8 * 8 * 512 * 2  # documents, tokens, dimensions: less than 2 bytes each, with all overhead
    assert len(many) == 400
    assert max(staged) <= 300_000 + batch < sum(np.diff([0, *staged]).clip(0)) / 4, "far less than was staged in all"
    assert max(ahead) < 150


def test_many_commits_leave_few_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)  # nothing is merged in between
    monkeypatch.setattr(text_adding, "BATCH_DOCUMENTS", 5)
    monkeypatch.setattr(text_adding, "FEW_SEGMENTS", 3)
    monkeypatch.setattr(adding, "COMMIT_BYTES", 1)
    monkeypatch.setattr(adding, "COMMITS", 4)
    many = Collection.create(tmp_path / "c", WordEncoder(), shards=2)
    most, real = 0, adding.write_shard

    def watch(root: Path, base: Any, *others: Any) -> Any:
        nonlocal most
        most = max(most, len(adding.open_to_change(root, base).segments))
        return real(root, base, *others)

    monkeypatch.setattr(adding, "write_shard", watch)
    many.add(sentences(100), range(100), workers=0)
    assert 3 < most <= 8, "merged while more come"
    assert all(len(many.index.storage.snapshot.shard(i).segments) <= 3 for i in range(2))
    assert many.ids == list(range(100))


@pytest.mark.full  # it needs Ray
@pytest.mark.parametrize("options", [{"first_stage": "bm25", "depth": 12}, {"hybrid": "rrf"}, {"hybrid": 0.4}])
def test_bm25_finds_the_same_as_in_one_collection(pair: tuple[Collection, Collection], options: dict[str, Any]) -> None:
    texts = sentences(40)
    for collection in pair:
        collection.add(texts, range(40), workers=0) if collection is pair[1] else collection.add(texts, range(40))
    found, expected = ([*collection.search("w1 w2 w3", k=8, **options)] for collection in reversed(pair))
    assert found == expected

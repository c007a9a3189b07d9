"""Batches that are encoded but not committed: they are found again, complete, and only for their own batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxsieve import Collection
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.text.collection.collection_encoder import CollectionEncoder
from maxsieve.text.collection.description import read_description
from maxsieve.text.distributed import staged as staging
from maxsieve.text.distributed.encoders import BatchEncoder, Order, Outcome
from maxsieve.text.distributed.staged import (
    Form,
    StagedBatch,
    batch_digest,
    find_staged,
    remove_oldest,
    remove_staged,
    staged_bytes,
)
from maxsieve.text.passages import Document
from text.support import ShortSighted, sentences

LONG = " ".join(f"Sentence {i} is here." for i in range(100))
DOCUMENTS = [Document(i, text, {"n": i}) for i, text in enumerate([*sentences(20), LONG, "", "日本 \ud800"])]


class Room:
    """A collection, and the object that encodes batches for it."""

    def __init__(self, path: Path) -> None:
        Collection.create(path, self.encoder, shards=3)
        self.path = path
        self.own = CollectionEncoder(path, read_description(path), self.encoder)
        self.folder = ShardedFolder.open(path)
        self.form = Form(self.folder.manifest.layout, self.own.description)

    encoder = ShortSighted()

    def run(self, documents: list[Document] = DOCUMENTS) -> Outcome:
        return BatchEncoder(self.folder, self.own).run(Order(documents, False, 0, 0))

    def batch(self, documents: list[Document] = DOCUMENTS) -> StagedBatch:
        batch = self.run(documents).batch
        assert batch is not None
        return batch


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "c")


def test_a_batch_is_found_again_and_not_encoded(room: Room) -> None:
    first = room.run()
    room.encoder.encoded.clear()
    second = room.run()
    assert second.batch == first.batch
    assert (first.reused, second.reused) == (False, True)
    assert room.encoder.encoded == []
    assert room.batch().documents[20].passages > 1
    assert len(list((room.path / staging.STAGING).glob("*.json"))) == 1


@pytest.mark.parametrize(
    "other",
    [
        DOCUMENTS[:-1],
        [*DOCUMENTS[1:], DOCUMENTS[0]],
        [DOCUMENTS[0]._replace(text="another"), *DOCUMENTS[1:]],
        [DOCUMENTS[0]._replace(metadata={"n": 1}), *DOCUMENTS[1:]],
        [one._replace(id=str(one.id)) for one in DOCUMENTS],
    ],
)
def test_another_batch_has_another_name(room: Room, other: list[Document]) -> None:
    assert room.batch(other).name.partition("-")[0] != room.batch().name.partition("-")[0]


def test_another_encoder_or_form_has_another_name(room: Room) -> None:
    digests = {
        batch_digest(DOCUMENTS, room.form),
        batch_digest(DOCUMENTS, room.form._replace(layout=room.form.layout._replace(store="float32"))),
    }
    for change in ({"fingerprint": {"a": "b"}}, {"projection": "abc"}, {"pool": 2}, {"passages": None}):
        description = type(room.form.description)(**{**vars(room.form.description), **change})
        digests.add(batch_digest(DOCUMENTS, room.form._replace(description=description)))
    assert len(digests) == 6


def test_damage_means_that_it_is_encoded_again(room: Room) -> None:
    batch = room.batch()
    folder = room.path / staging.STAGING
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    assert {path.suffix for path in whole} == {".json", ".segment", ".records"}
    digest = batch.name.partition("-")[0]
    for path, content in whole.items():
        at = 50 if path.suffix == ".json" else 2050
        flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        for damaged in (b"", content[:-1], content[: len(content) // 2], flipped):
            path.write_bytes(damaged)
            assert find_staged(room.path, digest, DOCUMENTS, room.form) is None, path
        path.unlink()
        assert find_staged(room.path, digest, DOCUMENTS, room.form) is None, path
        path.write_bytes(content)
        assert find_staged(room.path, digest, DOCUMENTS, room.form) == batch


def test_a_receipt_of_other_documents_does_not_count(room: Room) -> None:
    """Files under the name of another batch: they are complete, but not what was asked for."""
    mine, other = room.batch(), room.batch(DOCUMENTS[:5])
    folder, digest = room.path / staging.STAGING, mine.name.partition("-")[0]
    remove_staged(room.path, [mine.name])
    for path in list(folder.iterdir()):
        path.rename(folder / path.name.replace(other.name, f"{digest}-{'0' * 16}"))
    assert find_staged(room.path, digest, DOCUMENTS[:5], room.form) is not None
    assert find_staged(room.path, digest, DOCUMENTS, room.form) is None


def test_an_encoder_that_fails_leaves_nothing(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(texts: list[str]) -> list[object]:
        raise RuntimeError("out of memory")

    encoder = BatchEncoder(room.folder, room.own, fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        encoder.run(Order(DOCUMENTS, False, 0, 0))
    assert list((room.path / staging.STAGING).iterdir()) == []


def test_two_who_write_the_same_batch_do_not_meet(room: Room) -> None:
    encoder = BatchEncoder(room.folder, room.own)
    names = set()
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("maxsieve.text.distributed.encoders.find_staged", lambda *_: None)
            outcome = encoder.run(Order(DOCUMENTS, False, 0, 0))
        assert outcome.batch is not None
        names.add(outcome.batch.name)
    assert len(names) == 2
    assert len({name.partition("-")[0] for name in names}) == 1


def test_what_others_left_is_removed_from_the_oldest_on(room: Room) -> None:
    names = [room.batch(DOCUMENTS[start : start + 5]).name for start in (0, 5, 10)]
    sizes = staged_bytes(room.path)
    remove_oldest(room.path, sizes)
    assert staged_bytes(room.path) == sizes
    remove_oldest(room.path, sizes - 1)
    left = {path.name[:49] for path in (room.path / staging.STAGING).iterdir()}
    assert left == set(names[1:])
    (room.path / staging.STAGING / "mine.txt").write_text("a user's")
    remove_staged(room.path)
    assert [path.name for path in (room.path / staging.STAGING).iterdir()] == ["mine.txt"]
    assert staged_bytes(room.path) == 0

"""Damage of a collection is reported as `DamagedIndexError`, with exit code 3 and the name of the file."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.support import CommandLine
from hostile.fables import make_collection, rewrite_description, rewrite_records
from hostile.support import change_manifest
from maxsieve.errors import DamagedIndexError
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder

RECORDS = {
    "no record": None,
    "a number": "7",
    "a list": '["text"]',
    "null": "null",
    "no text": '{"metadata":null}',
    "no metadata": '{"text":"The fox"}',
    "text is a number": '{"text":7,"metadata":null}',
    "text is null": '{"text":null,"metadata":null}',
}


def give_all(collection: Path, record: str | None) -> None:
    change = "DELETE FROM records" if record is None else "UPDATE records SET record = ?"
    rewrite_records(collection, lambda base: base.execute(change, () if record is None else (record,)))


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_that_is_no_document(tmp_path: Path, record: str | None) -> None:
    give_all(make_collection(tmp_path / "c"), record)
    with Collection.open(tmp_path / "c", WordEncoder()) as collection:
        uses: list[Callable[[], object]] = [
            lambda: collection.text("fox"),
            lambda: collection.metadata("fox"),
            lambda: collection.search("fox").texts,
            lambda: collection.search("fox").metadata,
            lambda: collection.search("fox")[0].text,
            lambda: collection.search("fox").explain(0),
            lambda: collection.search("fox", first_stage="bm25"),
            lambda: collection.add(["Another fox"], ["fox"]),
            collection.verify,
        ]
        for use in uses:
            with pytest.raises(DamagedIndexError, match=r"document '\w+' .*record"):
                use()
        assert len(collection.search("fox")) == 4, "vectors are in order"


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '{"deep":[1,{"price":1e999}]}'])
def test_metadata_with_a_number_that_json_has_not(docs: CommandLine, value: str) -> None:
    """No writer writes it, and later code could not print it."""
    record = f'{{"text":"a red fox","metadata":{value}}}'
    give_all(docs.folder / "docs.ms", record)
    for command in (("search", "fox"), ("search", "fox", "--json"), ("export", "-", "--texts"), ("verify",)):
        done = docs(command[0], "docs.ms", *command[1:], code=3)
        assert ".records can't be read: " in done.stderr
        assert "is not a number that JSON can represent" in done.stderr


def test_a_collection_without_records(tmp_path: Path, docs: CommandLine) -> None:
    path = docs.folder / "docs.ms"

    def without(content: dict[str, Any]) -> None:
        for part in content["parts"]:
            part.update(records=None, records_crc=0)

    change_manifest(path / "index", without)
    for command in (
        ("search", "fox"),
        ("search", "fox", "--json"),
        ("export", "-", "--texts"),
        ("verify",),
        ("bench",),
    ):
        done = docs(command[0], "docs.ms", *command[1:], code=3)
        assert "has no text or no metadata in its record" in done.stderr
    docs("search", "docs.ms", "fox", "--first-stage", "bm25", code=3)


def saved(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


MATRIX = np.eye(16, 8, dtype=np.float32)
PROJECTIONS = {
    "garbage": b"garbage",
    "nothing": b"",
    "pickled": saved(np.array([{}], object), allow_pickle=True),
    "a zip": b"PK\x03\x04" + bytes(60),
    "too many rows": saved(np.eye(17, 8, dtype=np.float32)),
    "transposed": saved(MATRIX.T.copy()),
    "float64": saved(MATRIX.astype(np.float64)),
    "text": saved(MATRIX.astype("U3")),
    "NaN": saved(np.full_like(MATRIX, np.nan)),
    "one infinity": saved(np.where(np.arange(128).reshape(16, 8) == 5, np.inf, MATRIX).astype(np.float32)),
    "cut": saved(MATRIX)[:-4],
    "longer": saved(MATRIX) + b"\0",
    "a huge shape": saved(MATRIX).replace(b"(16, 8), ", b"(9999999999, 8), "),
    "a header without end": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "a header that is code": b"\x93NUMPY\x01\x00v\x00" + b"__import__('os').getpid()".ljust(117) + b"\n",
}


@pytest.mark.parametrize("content", PROJECTIONS.values(), ids=PROJECTIONS)
def test_a_projection_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = make_collection(tmp_path / "c", dim=8)
    (path / "projection.npy").write_bytes(content)
    for digest in (None, hashlib.sha256(content).hexdigest()):
        if digest:
            rewrite_description(path, lambda record, digest=digest: record.update(projection=digest))
        with Collection.open(path, WordEncoder()) as collection:
            for use in (lambda: collection.search("fox"), collection.verify, lambda: collection.add(["more"])):
                with pytest.raises(DamagedIndexError, match=r"projection\.npy") as caught:
                    use()
                assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("name", ["collection.json", "projection.npy"])
@pytest.mark.parametrize("kind", ["pipe", "link", "device", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, name: str, kind: str) -> None:
    path = make_collection(tmp_path / "c", dim=8)
    os.rename(path / name, tmp_path / "kept")
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path / name),
        "link": lambda: (path / name).symlink_to(tmp_path / "kept"),
        "device": lambda: (path / name).symlink_to("/dev/zero"),
        "folder": lambda: (path / name).mkdir(),
    }
    make[kind]()
    with pytest.raises(DamagedIndexError, match=name):
        Collection.open(path, WordEncoder()).search("fox")


def test_a_description_without_end_is_not_read(tmp_path: Path) -> None:
    path = make_collection(tmp_path / "c")
    with open(path / "collection.json", "r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(DamagedIndexError, match=r"collection\.json.* larger"):
        Collection.open(path)


def test_links_in_place_of_temporary_files_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "c"
    Collection.create(path, WordEncoder(), dim=8).close()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("collection.json.tmp", "projection.npy.tmp", "projection.npy"):
        (path / name).symlink_to(victim)
    with Collection.open(path, WordEncoder()) as collection:
        collection.add(["The fox and the grapes"], ["fox"])
    assert victim.read_text() == "mine"
    assert not (path / "projection.npy").is_symlink()


def test_vectors_without_a_projection_are_damage(tmp_path: Path) -> None:
    """They would be compared with vectors that are truncated, not projected."""
    path = make_collection(tmp_path / "c", dim=8)
    rewrite_description(path, lambda content: content.update(projection=None))
    with pytest.raises(DamagedIndexError, match=r"collection\.json.*projection.*\b8\b"):
        Collection.open(path, WordEncoder())


def test_an_index_that_is_a_link_is_refused(tmp_path: Path) -> None:
    one, other = make_collection(tmp_path / "one"), make_collection(tmp_path / "other")
    os.rename(one / "index", tmp_path / "moved")
    (one / "index").symlink_to(other / "index")
    with pytest.raises(DamagedIndexError, match=r"index .* link"):
        Collection.open(one, WordEncoder())


def test_a_text_that_is_shorter_than_its_vectors(tmp_path: Path) -> None:
    give_all(make_collection(tmp_path / "c"), '{"text":"fox","metadata":null}')
    with Collection.open(tmp_path / "c", WordEncoder()) as collection:
        hits = collection.search("the mouse and the grapes", k=4)
        with pytest.raises(DamagedIndexError, match="'lion'"):
            [hits.explain(rank) for rank in range(4)]


@pytest.mark.parametrize("name", ["lock", "index/lock", "bm25", "sync", "sync/lock"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_file_or_folder_is_told(tmp_path: Path, name: str, kind: str) -> None:
    """Writing refuses it, and looking for damage reports it."""
    path, victim = make_collection(tmp_path / "c") / name, tmp_path / "victim"
    victim.mkdir()
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(victim) if kind == "link" else os.mkfifo(path)
    with Collection.open(tmp_path / "c", WordEncoder()) as collection:
        with pytest.raises(DamagedIndexError, match=f"{name} is a {kind}"):
            collection.verify()
        assert collection.search("fox").ids
    assert not list(victim.iterdir())

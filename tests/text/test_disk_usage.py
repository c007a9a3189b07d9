"""Disk usage: every byte of the folder is counted in exactly one part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.disk_usage import PARTS

from .made_pages import page_of
from .support import ShortSighted, WordEncoder, sentences


def on_disk(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


@pytest.mark.parametrize("store", ["int8", "float16", "float32"])
def test_every_byte_is_in_one_part(tmp_path: Path, store: Any) -> None:
    texts = sentences(200)
    collection = Collection.create(tmp_path / "c", WordEncoder(), 8, store=store)
    collection.add(texts, [f"d{i}" for i in range(200)])
    collection.calibrate(texts[:20], k=10)
    collection.search("w3", first_stage="bm25")
    room = json.loads(json.dumps(collection.info()["room"]))
    parts = room["parts"]
    assert list(parts) == list(PARTS)
    assert sum(parts.values()) == room["total"] == on_disk(collection.path)
    tokens, numbers = collection.index.tokens, {"int8": 0, "float16": 2, "float32": 4}[store]
    assert parts["codes"] == 32 * tokens, "rows of codes are padded to 32 bytes"
    assert parts["vectors"] == 8 * numbers * tokens
    assert parts["bounds"] == 200 * (3 * 4) + 201 * 8
    assert parts["projection"] == (collection.path / "projection.npy").stat().st_size
    records = collection.path.glob("index/*.records")
    assert parts["texts"] == sum(path.stat().st_size for path in records)
    assert room["text_bytes"] == sum(map(len, texts))
    assert room["times_texts"] == room["total"] / room["text_bytes"]
    assert all(parts[name] > 0 for name in ("centroids", "calibration", "ids", "bm25", "other"))
    assert room["deleted"] == 0


def test_what_deleted_documents_take(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), store="float16")
    collection.add(sentences(50), range(50))
    lost = sum(len(collection.index.vectors(collection.keys.key(one))) for one in range(10))
    collection.delete(range(10))
    assert collection.info()["room"]["deleted"] == lost * (32 + 2 * 16) + 10 * 3 * 4
    collection.compact()
    assert collection.info()["room"]["deleted"] == 0


def test_pictures_of_pages_are_a_part(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), pages=True) as collection:
        pages = [page_of("the hungry fox"), page_of("the thirsty crow")]
        collection.add([*pages, pages[0]], ["a", "b", "again"])
        room = collection.info()["room"]
        assert room["parts"]["pictures"] == sum(len(page.picture) for page in pages), "each is stored once"
        assert sum(room["parts"].values()) == room["total"] == on_disk(collection.path)


def test_an_empty_collection_has_no_texts_to_compare_with(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder())
    room = collection.info()["room"]
    assert room["times_texts"] is None
    assert room["total"] == on_disk(collection.path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder())
    collection.add(sentences(5), range(5))
    before = collection.info()["room"]
    (tmp_path / "large").write_bytes(bytes(1 << 20))
    (collection.path / "link").symlink_to(tmp_path / "large")
    after = collection.info()["room"]
    assert after["total"] - before["total"] == len(str(tmp_path / "large"))
    assert after["parts"]["other"] - before["parts"]["other"] == len(str(tmp_path / "large"))


def test_texts_are_counted_once_and_without_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["\n\n".join(sentences(40, start=40 * number)) + " é" for number in range(12)]
    with Collection.create(tmp_path / "c", ShortSighted()) as collection:
        collection.add(texts, metadata=[{"note": "x" * 500}] * 12)
        assert len(collection.index) > 40
        exact = sum(len(text.encode()) for text in texts)
        assert collection.info()["room"]["text_bytes"] == exact
        monkeypatch.setattr("maxsieve.text.collection.disk_usage.RUNS", 4)
        monkeypatch.setattr("maxsieve.text.collection.disk_usage.RUN", 5)
        assert abs(collection.info()["room"]["text_bytes"] - exact) < exact / 4

"""How a collection is opened and described in a program or a notebook."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import maxsieve as ms
import maxsieve.text
from maxsieve.text.encoders import carriers
from text.support import ShortSighted, WordEncoder


def test_open_or_create(tmp_path: Path) -> None:
    encoder = WordEncoder()
    with ms.Collection.open_or_create(tmp_path / "c", encoder, 8, store="float16") as new:
        new.add(["a fox"], ["fox"])
    with ms.Collection.open_or_create(tmp_path / "c", encoder, 8, store="float16") as again:
        assert again.ids == ["fox"]
        assert (again.index.dim, again.index.store) == (8, "float16")
    with pytest.raises(ValueError, match="with the encoder"):
        ms.Collection.open_or_create(tmp_path / "c", WordEncoder(salt="other"))
    with pytest.raises(TypeError, match="colour"):
        ms.Collection.open_or_create(tmp_path / "d", encoder, colour="red")
    assert not (tmp_path / "d").exists()


def test_documents_are_counted(tmp_path: Path) -> None:
    with ms.Collection.create(tmp_path / "c", ShortSighted()) as collection:
        collection.add(["one two", " ".join(f"w{i}" for i in range(200))], ["a", "b"])
        passages = len(collection.index)
        assert passages > 2
        assert len(collection) == 2
        described = f": 2 documents in {passages} passages, {collection.index.tokens} tokens, dim 16>"
        assert repr(collection).endswith(described)
        collection.delete("b")
        assert ": 1 document, 2 tokens" in repr(collection)
    assert repr(collection).startswith("<closed maxsieve.Collection ")


def test_all_names_are_listed() -> None:
    assert set(maxsieve.text.__all__) <= set(dir(maxsieve.text))
    assert all(hasattr(maxsieve.text, name) for name in maxsieve.text.__all__)


def test_what_is_no_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"encoder .* not 7"):
        ms.Collection.create(tmp_path / "c", 7)  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()


def test_a_collection_can_be_read_while_its_encoder_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, loaded = Event(), list[str]()

    def load(name: str, threads: int | None = None) -> WordEncoder:
        loaded.append(name)
        if not read.wait(60):
            raise ValueError("what can be known without the encoder has waited for it")
        return WordEncoder()

    ms.Collection.create(tmp_path / "c", WordEncoder()).close()
    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.load_encoder", load)
    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.BUILT_IN_ENCODERS", {"words"})
    with ms.Collection.open(tmp_path / "c", load_soon=True) as collection:
        assert not collection.has_pages
        assert collection.info()["encoder"]["name"] == "words"
        read.set()
        assert collection.encoder.name == "words"
        assert loaded == ["words"], "once is enough"


def test_an_encoder_that_was_not_loaded_is_an_error_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[str]()

    def load(name: str, threads: int | None = None) -> WordEncoder:
        tried.append(name)
        raise ValueError("the model is gone")

    ms.Collection.create(tmp_path / "c", WordEncoder()).close()
    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.load_encoder", load)
    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.BUILT_IN_ENCODERS", {"words"})
    with ms.Collection.open(tmp_path / "c", load_soon=True) as collection:
        assert len(collection) == 0
        with pytest.raises(ValueError, match="the model is gone"):
            collection.encoder
    assert set(tried) == {"words"}


def test_the_digest_of_a_file_is_computed_again_only_if_it_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Any] = []
    monkeypatch.setattr(carriers, "_read_digest", lambda path: computed.append(path) or str(len(computed)))
    file = tmp_path / "model.onnx"
    file.write_bytes(b"weights")
    assert [carriers.sha256(file), carriers.sha256(file)] == ["1", "2"], "it was written just now"
    monkeypatch.setattr(carriers, "TICK", 0)
    assert [carriers.sha256(file), carriers.sha256(file)] == ["3", "3"]
    before = file.stat()
    file.write_bytes(b"others!")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert carriers.sha256(file) == "4"
    monkeypatch.undo()
    assert carriers.sha256(file) == hashlib.sha256(b"others!").hexdigest()

"""The store of a new collection: residuals, which `index` and `sync` encode when there are enough tokens."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from maxsieve.cli.app import app_for
from maxsieve.storage.segments import Store
from maxsieve.text import FolderSync
from maxsieve.text.collection import collection as collections
from maxsieve.text.collection.collection import Collection

from .support import WordEncoder, sentences

ENOUGH = 200
"""Tokens, in these tests."""


@pytest.fixture(autouse=True)
def enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "ENOUGH_TOKENS", ENOUGH)


@pytest.mark.parametrize(
    ("dim", "store"),
    [(16, "residual4"), (127, "residual4"), (128, "residual2"), (256, "residual1"), (384, "residual1")],
)
def test_the_default_follows_the_dimensions(tmp_path: Path, dim: int, store: str) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(dim)) as collection:
        assert collection.index.store == store
    with Collection.create(tmp_path / "reduced", WordEncoder(dim), 8) as reduced:
        assert reduced.index.store == "residual4"
    with Collection.create(tmp_path / "asked", WordEncoder(dim), store="float16") as asked:
        assert asked.index.store == "float16"


def test_vectors_are_encoded_once_there_are_enough(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(128)) as collection:
        texts = sentences(60)
        collection.add(texts[:5], range(5))
        assert collection.info()["byte_codes_until"]
        assert not collection.encode_store()
        exact = collection.index.vectors(collection.keys.key(3))
        np.testing.assert_allclose(exact, WordEncoder(128).encode_documents([texts[3]])[0], atol=0.01)
        collection.add(texts[5:], range(5, 60))
        assert collection.index.tokens >= ENOUGH
        before = collection.info()["room"]["parts"]["codes"]
        assert collection.encode_store()
        assert collection.info()["byte_codes_until"] is None
        assert collection.info()["room"]["parts"]["codes"] < before / 3
        assert not collection.encode_store(), "a codebook never changes"
        assert collection.search(texts[3], k=1).ids == [3]
        collection.add(["something else"], [60])
        assert collection.index.storage.snapshot.codebook is not None
        collection.verify()


def test_another_process_may_have_encoded_them(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder()) as collection:
        collection.add(sentences(60), range(60))
        with Collection.open(tmp_path / "c", WordEncoder()) as other:
            assert other.encode_store()
        assert not collection.encode_store()
        assert collection.info()["byte_codes_until"] is None


def test_a_collection_of_another_store_stays_as_it_is(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), store="int8") as collection:
        collection.add(sentences(60), range(60))
        assert not collection.encode_store()
        assert collection.info()["byte_codes_until"] is None


def test_sync_encodes_at_the_end(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, text in enumerate(sentences(60)):
        (notes / f"{number}.txt").write_text(text)
    with Collection.create(tmp_path / "c", WordEncoder()) as collection:
        sync = FolderSync(collection, notes)
        sync.run(dry_run=True)
        assert not sync.encoded
        sync.run()
        assert sync.encoded
        (notes / "more.txt").write_text("another one")
        sync.run()
        assert not sync.encoded


def test_the_command_line_says_that_scores_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.text.load_encoder", lambda name: WordEncoder())
    path, notes = str(tmp_path / "c"), tmp_path / "notes"
    notes.mkdir()
    for number, text in enumerate(sentences(60)):
        (notes / f"{number}.txt").write_text(text)
    # in a context of its own: a command decides which progress later ones show
    done = copy_context().run(CliRunner().invoke, app_for("index"), ["index", path, str(notes)])
    assert "vectors are residual4 now" in done.output
    assert "scores changed" in done.output


@pytest.mark.parametrize("store", ["float32", "float16", "int8", "residual4"])
def test_similarity_as_a_whole_is_that_of_the_texts(tmp_path: Path, store: Store) -> None:
    encoder, texts = WordEncoder(128), sentences(60)
    means = np.array([rows.mean(axis=0) for rows in encoder.encode_documents(texts)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    with Collection.create(tmp_path / "c", encoder, store=store) as collection:
        collection.add(texts, range(60))
        hits = collection.search(texts[3], k=60)
        np.testing.assert_allclose(hits.whole_similarities(), means[np.array(hits.ids)] @ means[3], atol=0.005)
        if collection.encode_store():  # now with four bits a number
            hits = collection.search(texts[3], k=60)
            np.testing.assert_allclose(hits.whole_similarities(), means[np.array(hits.ids)] @ means[3], atol=0.05)

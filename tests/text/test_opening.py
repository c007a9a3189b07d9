"""How a collection is opened and described in a program or a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

import maxsieve as ms
import maxsieve.text
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

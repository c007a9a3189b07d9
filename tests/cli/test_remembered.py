"""The encoder that a user made a collection with is remembered by the user's cache, never chosen by the collection."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.support import CommandLine
from maxsieve.cli.remembered import encoder_for, remember


def test_the_maker_of_a_collection_need_not_name_its_encoder_again(docs: CommandLine) -> None:
    assert "The fox" in docs.unaided("search", "docs.ms", "red", "fox").stdout
    docs.unaided("add", "docs.ms", stdin="a blue whale")
    docs.unaided("index", "docs.ms", "corpus.jsonl")
    docs.unaided("search", str(docs.folder / "docs.ms"), "red", "fox")
    moved = docs.folder / "moved.ms"
    shutil.copytree(docs.folder / "docs.ms", moved)
    assert "give it yourself" in docs.unaided("search", "moved.ms", "red", code=1).stderr


def test_another_collection_in_its_place_loads_nothing_that_it_names(docs: CommandLine, tmp_path: Path) -> None:
    description = docs.folder / "docs.ms" / "collection.json"
    content = json.loads(description.read_text())
    content["encoder"] = str(tmp_path / "trap")
    content["fingerprint"] = {"model": "0" * 64}
    description.write_text(json.dumps(content))
    said = docs.unaided("search", "docs.ms", "red", code=1).stderr
    assert "was made with the encoder" in said
    assert str(docs.model) in said, "what is loaded is what the user gave, and it does not fit"


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', "{" * 100_000, "\x00"])
def test_a_damaged_file_counts_as_empty(docs: CommandLine, content: str) -> None:
    (docs.cache / "encoders").write_text(content)
    assert "give it yourself" in docs.unaided("search", "docs.ms", "red", code=1).stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_links_and_pipes_are_not_read(docs: CommandLine) -> None:
    kept = docs.cache / "encoders"
    elsewhere = docs.folder / "elsewhere"
    kept.rename(elsewhere)
    kept.symlink_to(elsewhere)
    assert "give it yourself" in docs.unaided("search", "docs.ms", "red", code=1).stderr
    kept.unlink()
    os.mkfifo(kept)
    assert "give it yourself" in docs.unaided("search", "docs.ms", "red", code=1).stderr


def test_built_in_models_are_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path / "cache"))
    remember(tmp_path / "c", "minilm")
    assert not (tmp_path / "cache").exists()
    assert encoder_for(tmp_path / "nothing", None) is None
    assert encoder_for(tmp_path / "nothing", "given") == "given"

"""A collection says which encoder made it. Only one that the user names, or a built-in one, is ever loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cli.support import CommandLine
from cli.tiny_model import write_tiny_model
from hostile.fables import make_collection, rewrite_description
from maxsieve.cli.failures import sentence
from maxsieve.text import load_encoder
from maxsieve.text.collection.collection import Collection


@pytest.mark.parametrize("name", ["{model}", "st:{model}", "st:somebody/model@main", "../model", "words"])
def test_nothing_is_loaded_that_only_the_collection_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_tiny_model(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    path = make_collection(tmp_path / "evil")
    recorded = name.replace("{model}", str(tmp_path / "model"))
    rewrite_description(path, lambda content: content.update(encoder=recorded))

    def load(*_: object, **__: object) -> None:
        raise AssertionError("something was loaded")

    for target in (
        "maxsieve.text.encoders.onnx.OnnxEncoder",
        "maxsieve.text.encoders.multi_vector.SentenceTransformersEncoder",
    ):
        monkeypatch.setattr(f"{target}.__init__", load)
    with Collection.open(path) as collection:
        assert collection.text("fox"), "reading needs no encoder"
        for use in (lambda: collection.search("fox"), lambda: collection.add(["more"]), lambda: collection.encoder):
            with pytest.raises(ValueError, match="built-in") as caught:
                use()
        assert repr(recorded) in str(caught.value)
        assert f"encoder={recorded!r}" in str(caught.value)


def test_a_name_that_the_user_gives_is_loaded_and_checked(tmp_path: Path) -> None:
    for name in ("model", "other"):
        write_tiny_model(tmp_path / name)
    (tmp_path / "other" / "config.json").write_text('{"max_position_embeddings": 100}')
    with Collection.create(tmp_path / "c", load_encoder(str(tmp_path / "model")), dim=None) as collection:
        collection.add(["a red fox", "green tea"], ["fox", "tea"])
    with Collection.open(tmp_path / "c", str(tmp_path / "model")) as collection:
        assert collection.search("fox", k=1).ids == ["fox"]
    with pytest.raises(ValueError, match=r"max_tokens\b.*\b512\b.*\b100\b"):
        Collection.open(tmp_path / "c", str(tmp_path / "other"))


def test_built_in_models_need_no_naming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    path = make_collection(tmp_path / "c")
    rewrite_description(path, lambda content: content.update(encoder="minilm"))

    def load(name: str, threads: int | None = None) -> None:
        asked.append(name)
        raise ValueError("as far as that")

    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.load_encoder", load)
    with Collection.open(path) as collection, pytest.raises(ValueError, match="as far as that"):
        collection.search("fox")
    assert asked == ["minilm"]


def test_the_command_line_takes_the_name(docs: CommandLine) -> None:
    named = ("--encoder", str(docs.model))
    (docs.cache / "encoders").unlink()  # as if somebody else had made the collection
    for command in (("search", "docs.ms", "fox"), ("add", "docs.ms"), ("bench", "docs.ms")):
        done = docs.unaided(*command, stdin="a new text", code=1)
        assert f"--encoder {docs.model}" in done.stderr
        docs.unaided(*command, *named, stdin="a new text")
    for command in (("info", "docs.ms"), ("verify", "docs.ms"), ("export", "docs.ms", "-", "--texts")):
        docs.unaided(*command)


@pytest.mark.parametrize(
    "name", ["'$(touch owned)", "$(touch owned)", "`touch owned`'\"`touch owned`", "x'; touch owned; '"]
)
def test_what_one_is_told_to_type_runs_nothing_else(tmp_path: Path, name: str) -> None:
    path = make_collection(tmp_path / "evil")
    rewrite_description(path, lambda content: content.update(encoder=name))
    with Collection.open(path) as collection, pytest.raises(ValueError, match="built-in") as caught:
        collection.search("fox")
    words = sentence(caught.value).partition("--encoder ")[2]
    done = subprocess.run(["sh", "-c", f"printf %s {words}"], cwd=tmp_path, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == name
    assert not (tmp_path / "owned").exists()

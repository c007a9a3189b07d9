"""Any BERT-like graph with a tokenizer, and the errors for folders with something else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from maxsieve.errors import ModelMissingError
from maxsieve.text import OnnxEncoder, TruncationWarning, load_encoder

from .tiny_onnx import row, write_folder, write_model

ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"inputs": ALL_INPUTS},
        {"inputs": ALL_INPUTS, "integers": TensorProto.INT32},
        {"outputs": ("last_hidden_state", "hidden_states_5")},
        {"outputs": ("output_0",)},
        {"dim": "hidden"},
    ],
)
def test_graphs_that_are_taken(tmp_path: Path, model: dict[str, Any]) -> None:
    encoder = OnnxEncoder(write_folder(tmp_path, **model))
    assert encoder.dim == 4
    twos, nothing = encoder.encode_documents(["Two zeros, three", ""])
    np.testing.assert_allclose(
        twos, [row("two"), row("zero"), row("##s"), row("[UNK]"), row("three")], rtol=0, atol=1e-7
    )
    assert nothing.shape == (0, 4)
    assert twos.dtype == nothing.dtype == np.float32


@pytest.mark.parametrize(("floats", "tolerance"), [(TensorProto.FLOAT16, 1e-3), (TensorProto.DOUBLE, 1e-7)])
def test_other_floats(tmp_path: Path, floats: int, tolerance: float) -> None:
    rows = OnnxEncoder(write_folder(tmp_path, floats=floats)).encode_queries(["one"])[0]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [row("one")], rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"inputs": ("input_ids", "position_ids")}, "position_ids"),
        ({"inputs": ("tokens",)}, r"\btokens\b"),
        ({"outputs": ("one", "two")}, "one.*two"),
        ({"outputs": ("pooled",), "flat": True}, "last_hidden_state.*pooled"),
    ],
)
def test_graphs_that_are_refused(tmp_path: Path, model: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"model\.onnx .*{sentence}"):
        OnnxEncoder(write_folder(tmp_path, **model))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("contents", [b"", b"\x08\x07nonsense", b"{}"])
def test_files_that_are_no_such_thing(tmp_path: Path, file: str, contents: bytes) -> None:
    (write_folder(tmp_path) / file).write_bytes(contents)
    with pytest.raises(ValueError, match=file):
        OnnxEncoder(tmp_path)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_files_that_are_missing(tmp_path: Path, file: str) -> None:
    (write_folder(tmp_path) / file).unlink()
    with pytest.raises(FileNotFoundError, match=file):
        load_encoder(str(tmp_path))


def test_the_model_may_have_another_name_if_it_is_the_only_one(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "model.onnx").rename(tmp_path / "model_quantized.onnx")
    assert OnnxEncoder(tmp_path).dim == 4
    write_model(tmp_path / "another.onnx")
    with pytest.raises(FileNotFoundError, match=r"another\.onnx, model_quantized\.onnx"):
        OnnxEncoder(tmp_path)


@pytest.mark.parametrize("file", ["modules.json", "config_sentence_transformers.json", "model.safetensors"])
def test_a_checkpoint_for_torch_is_told_its_name(tmp_path: Path, file: str) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"model\.onnx.* none$"):
        load_encoder(str(tmp_path))
    (tmp_path / file).write_text("{}")
    with pytest.raises(FileNotFoundError, match=f"'st:{tmp_path}'$"):
        load_encoder(str(tmp_path))


@pytest.mark.parametrize("name", ["who/what", "who/what-2.0@main"])
def test_a_name_on_the_hub_is_told_its_prefix(name: str) -> None:
    with pytest.raises(ModelMissingError, match=rf"{name} was not fetched: .*'st:{name}'"):
        load_encoder(name)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"\bnone\b"):
        OnnxEncoder(tmp_path / "none")
    with pytest.raises(ValueError, match=r"\bnone'.*'st:'"):
        load_encoder(str(tmp_path / "none"))
    with pytest.raises(TypeError, match="of an encoder"):
        load_encoder(tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "tokenizer_config", "limit"),
    [
        (None, None, 512),
        ({"max_position_embeddings": 40}, None, 40),
        ({"max_position_embeddings": 40}, {"model_max_length": 20}, 20),
        ({"max_position_embeddings": 40}, {"model_max_length": 10**30}, 40),
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}, None, 512),
    ],
)
def test_the_limit_is_the_folders_own(tmp_path: Path, config: Any, tokenizer_config: Any, limit: int) -> None:
    write_folder(tmp_path, config)
    if tokenizer_config:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    assert OnnxEncoder(tmp_path).max_tokens == limit


def test_the_limit_asked_for(tmp_path: Path) -> None:
    write_folder(tmp_path, {"max_position_embeddings": 40})
    encoder = OnnxEncoder(tmp_path, max_tokens=4)
    with pytest.warns(TruncationWarning, match=r"\b1 of 2\b.*\b4\b.*\b6\b"):
        cut, whole = encoder.encode_documents(["one two three zero", "one two"])
    np.testing.assert_array_equal(cut, whole)
    assert encoder.document_spans("one two three") == [(0, 3), (4, 7)]
    for wrong, sentence in ((2, r"\b2\b"), (41, r"\b40\b"), (0, r"\b0$")):
        with pytest.raises(ValueError, match=f"^max_tokens.*{sentence}"):
            OnnxEncoder(tmp_path, max_tokens=wrong)


def test_a_configuration_that_is_none(tmp_path: Path) -> None:
    (write_folder(tmp_path) / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json"):
        OnnxEncoder(tmp_path)


def test_a_model_that_fails_says_on_what(tmp_path: Path) -> None:
    write_folder(tmp_path, inputs=("input_ids", "attention_mask"))
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["four"] = 1000
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ValueError, match=r"model\.onnx .*\b3 tokens"):
        OnnxEncoder(tmp_path).encode_documents(["one", "four"])


def test_the_fingerprint_is_of_what_decides_the_vectors(tmp_path: Path) -> None:
    first = OnnxEncoder(write_folder(tmp_path / "first"))
    again = OnnxEncoder(write_folder(tmp_path / "again"))
    beside = OnnxEncoder(write_folder(tmp_path / "beside", external=True))
    assert first.fingerprint == again.fingerprint
    assert set(first.fingerprint) == {"model.onnx", "tokenizer.json", "max_tokens"}
    assert set(beside.fingerprint) == {"model.onnx", "model.onnx_data", "tokenizer.json", "max_tokens"}
    assert OnnxEncoder(tmp_path / "again", max_tokens=9).fingerprint != first.fingerprint
    np.testing.assert_array_equal(beside.encode_queries(["one"])[0], first.encode_queries(["one"])[0])


def test_a_folder_is_found_again_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "it")
    monkeypatch.chdir(tmp_path)
    name = load_encoder("it").name
    monkeypatch.chdir("/")
    assert load_encoder(name).fingerprint == OnnxEncoder(tmp_path / "it").fingerprint


def test_packages_that_are_not_installed(tmp_path: Path) -> None:
    script = """
import sys
import maxsieve.text
assert not {"onnxruntime", "tokenizers", "torch", "transformers", "sentence_transformers"} & set(sys.modules)
for module in ("onnxruntime", "tokenizers", "huggingface_hub"):
    sys.modules[module] = None
    try:
        maxsieve.text.load_encoder(sys.argv[1] if module != "huggingface_hub" else "st:some/checkpoint")
    except ImportError as problem:
        print(problem)
    del sys.modules[module]
"""
    command = [sys.executable, "-c", script, str(write_folder(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "this needs onnxruntime: pip install 'maxsieve[text]'",
        "this needs tokenizers: pip install 'maxsieve[text]'",
        "this needs huggingface_hub: pip install 'maxsieve[st]'",
    ]

"""Hostile or incomplete folders of late-interaction models: an error that names the file and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from maxsieve.text import load_encoder
from text.tiny_colbert import CONFIG, DIM, STANFORD, write_colbert


@pytest.mark.parametrize("field", [name for name in CONFIG if name not in ("model_type",)])
@pytest.mark.parametrize("value", [None, [], {"a": 1}, -1, 1 << 40, 1.5, "[none]", ["x", 1]])
def test_each_field_of_a_configuration(tmp_path: Path, field: str, value: Any) -> None:
    folder = write_colbert(tmp_path, {**CONFIG, field: value})
    if field == "skiplist_words" and value == []:
        assert load_encoder(str(folder))
        return
    with pytest.raises(ValueError, match=rf"onnx_config\.json.*{field}"):
        load_encoder(str(folder))


@pytest.mark.parametrize("field", [name for name in CONFIG if name not in ("model_type",)])
def test_a_field_that_is_missing(tmp_path: Path, field: str) -> None:
    folder = write_colbert(tmp_path, {name: value for name, value in CONFIG.items() if name != field})
    with pytest.raises(ValueError, match=rf"onnx_config\.json does not state ({field}|the dimension)"):
        load_encoder(str(folder))


@pytest.mark.parametrize("field", [name for name in STANFORD if name != "dim"])
def test_a_field_that_artifact_metadata_lacks(tmp_path: Path, field: str) -> None:
    folder = write_colbert(tmp_path, None)
    (folder / "tokenizer_config.json").write_text('{"mask_token": "[MASK]"}')
    (folder / "artifact.metadata").write_text(json.dumps({name: STANFORD[name] for name in STANFORD if name != field}))
    with pytest.raises(ValueError, match=rf"artifact\.metadata does not state {field}"):
        load_encoder(str(folder))


def test_an_export_without_the_file_that_describes_it(tmp_path: Path) -> None:
    folder = write_colbert(tmp_path, None)
    (folder / "config.json").write_text('{"architectures": ["HF_ColBERT"]}')
    with pytest.raises(ValueError, match=r"no file that says how .*artifact\.metadata of the same model is needed"):
        load_encoder(str(folder))
    (folder / "artifact.metadata").write_text(json.dumps(STANFORD))
    with pytest.raises(ValueError, match=r"mask_token_id, nor does tokenizer_config\.json"):
        load_encoder(str(folder))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
@pytest.mark.parametrize("file", ["onnx_config.json", "config.json", "config_sentence_transformers.json"])
def test_json_that_is_none(tmp_path: Path, file: str, content: bytes) -> None:
    folder = write_colbert(tmp_path, CONFIG if file == "onnx_config.json" else None)
    (folder / file).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{file} (is not valid JSON|must contain a JSON object)"):
        load_encoder(str(folder))


@pytest.mark.parametrize("modules", [{}, [1], [{"type": "x"}], [{"type": "x", "path": "../up"}],
                                     [{"type": "x", "path": "/etc"}], [{"type": 1, "path": ""}]])  # fmt: skip
def test_modules_that_are_none(tmp_path: Path, modules: Any) -> None:
    folder = write_colbert(tmp_path)
    (folder / "modules.json").write_text(json.dumps(modules))
    if modules == {}:
        assert load_encoder(str(folder))
        return
    with pytest.raises(ValueError, match=r"modules\.json"):
        load_encoder(str(folder))


def write_dense(folder: Path, **changes: Any) -> Path:
    write_colbert(folder, {**CONFIG, "embedding_dim": 2})
    (folder / "1_Dense").mkdir()
    (folder / "modules.json").write_text(json.dumps([{"type": "pylate.models.Dense.Dense", "path": "1_Dense"}]))
    config = {"in_features": DIM, "out_features": 2, "bias": False, "activation_function": "torch.nn.Identity"}
    (folder / "1_Dense" / "config.json").write_text(json.dumps({**config, **changes}))
    save_file({"linear.weight": np.ones((2, DIM), np.float32)}, folder / "1_Dense" / "model.safetensors")
    return folder


def test_projections(tmp_path: Path) -> None:
    assert load_encoder(str(write_dense(tmp_path / "good"))).dim == 2
    for number, (changes, sentence) in enumerate(
        [
            ({"in_features": 7}, "the projection is missing"),
            ({"out_features": 3}, "the projection is missing"),
            ({"in_features": None}, r"1_Dense/config\.json does not state in_features"),
            ({"bias": True}, r"model\.safetensors must have linear\.bias of shape"),
            ({"bias": None}, r"config\.json does not state bias"),
            ({"activation_function": "torch.nn.Tanh"}, "activation_function 'torch.nn.Tanh' is not supported"),
            ({"module_input_name": "sentence_embedding"}, "module_input_name must be token_embeddings"),
        ]
    ):
        with pytest.raises(ValueError, match=sentence):
            load_encoder(str(write_dense(tmp_path / str(number), **changes)))
    folder = write_dense(tmp_path / "weights")
    for content in (b"", b"\xff" * 100, (2).to_bytes(8, "little") + b"{}"):
        (folder / "1_Dense" / "model.safetensors").write_bytes(content)
        with pytest.raises(ValueError, match=r"1_Dense/model\.safetensors"):
            load_encoder(str(folder))
    (folder / "1_Dense" / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"1_Dense/model\.safetensors is missing"):
        load_encoder(str(folder))
    (folder / "modules.json").unlink()
    with pytest.raises(ValueError, match="projection is missing"):
        load_encoder(str(folder))


def test_markers_that_do_not_fit_the_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"query_prefix '\[X\]' is no token of tokenizer\.json"):
        load_encoder(str(write_colbert(tmp_path / "a", {**CONFIG, "query_prefix": "[X]"})))
    with pytest.raises(ValueError, match=r"query_prefix_id is 6, but in tokenizer\.json '\[Q\]' is 5"):
        load_encoder(str(write_colbert(tmp_path / "b", {**CONFIG, "query_prefix_id": 6})))
    with pytest.raises(ValueError, match="mask_token_id 4000"):
        load_encoder(str(write_colbert(tmp_path / "c", {**CONFIG, "mask_token_id": 4000})))
    (write_colbert(tmp_path / "d", None) / "config_sentence_transformers.json").write_text(
        json.dumps({**CONFIG, "prompts": {"query": "find: "}})
    )
    with pytest.raises(ValueError, match=r"config_sentence_transformers\.json: prompts has 'find: ' beside"):
        load_encoder(str(tmp_path / "d"))

"""`export_model`: the rows of the exported folder are those of Sentence Transformers on the checkpoint."""

from __future__ import annotations

import json
import shutil
import string
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

from maxsieve.text import ColbertEncoder, SentenceTransformersEncoder
from maxsieve.text.encoders import export
from maxsieve.text.encoders.encoder import F32
from maxsieve.text.encoders.export import export_model

from .random_models import DIM, HIDDEN, MARKERS, MODELS, dense, rows_differ, texts

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def quiet() -> None:
    warnings.simplefilter("ignore")


def save_native(folder: Path, kind: str, **settings: Any) -> Path:
    """A checkpoint of Sentence Transformers."""
    expansion = {"strategy": "fixed", "attend": False, "length": 24, **settings.pop("expansion", {})}
    skip = MultiVectorMask(list(string.punctuation), skiplist_tasks=settings.pop("tasks", ["document"]))
    prompts = settings.pop("prompts", {"query": "[unused0] ", "document": "[unused1] "})
    transformer = Transformer(
        str(MODELS[kind](folder / "base")), query_expansion=expansion, document_length=50, **settings
    )
    transformer.tokenizer.add_special_tokens({"additional_special_tokens": ["[unused0]", "[unused1]"]})
    modules = [transformer, *_projection(), skip, Normalize(module_input_name="token_embeddings")]
    MultiVectorEncoder(modules=modules, prompts=prompts, device="cpu").save(str(folder / "checkpoint"))
    return folder / "checkpoint"


def _projection() -> list[Any]:
    ways = {"activation_function": torch.nn.Identity(), "module_input_name": "token_embeddings"}
    wide = dense(seed=5).T.contiguous()  # back to the first width, so that nothing can be told from sizes
    return [
        Dense(HIDDEN, DIM, bias=True, init_weight=dense(), **ways),
        Dense(DIM, HIDDEN, bias=False, init_weight=wide, **ways),
    ]


def save_pylate(folder: Path, kind: str) -> Path:
    """A checkpoint in the form that PyLate writes."""
    place = MODELS[kind](folder / "checkpoint", markers=True)
    (place / "1_Dense").mkdir()
    layer = {"in_features": HIDDEN, "out_features": DIM, "bias": False,
             "activation_function": "torch.nn.modules.linear.Identity"}  # fmt: skip
    (place / "1_Dense" / "config.json").write_text(json.dumps(layer))
    save_file({"linear.weight": dense()}, place / "1_Dense" / "model.safetensors")
    kinds = {"": "sentence_transformers.models.Transformer", "1_Dense": "pylate.models.Dense.Dense"}
    modules = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(kinds.items())]
    (place / "modules.json").write_text(json.dumps(modules))
    settings = {
        "model_type": "ColBERT",
        "prompts": {"query": "", "document": ""},
        "query_prefix": MARKERS[0],
        "document_prefix": MARKERS[1],
        "query_length": 24,
        "document_length": 50,
        "attend_to_expansion_tokens": False,
        "skiplist_words": list(string.punctuation),
        "do_query_expansion": True,
    }
    (place / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return place


def rows(encoder: SentenceTransformersEncoder | ColbertEncoder) -> tuple[list[F32], list[F32]]:
    """The rows of 200 texts as queries, and as documents."""
    return encoder.encode_queries(texts()), encoder.encode_documents(texts())


def compare(expected: tuple[list[F32], list[F32]], exported: Path, least: float = 0.9999) -> tuple[str, ...]:
    """What differs in queries, and in documents."""
    pairs = zip(expected, rows(ColbertEncoder(exported)), strict=True)
    return tuple(rows_differ(one, other, least) for one, other in pairs)


def largest_weight(path: Path) -> int:
    """Of the matrices that are multiplied as integers. CPUs without VNNI add two products in 16 bits."""
    graph = onnx.load(path).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = [tensors[node.input[1]] for node in graph.node if node.op_type == "MatMulInteger"]
    assert {matrix.dtype for matrix in weights} == {np.dtype(np.int8)}
    return max(int(np.abs(matrix.astype(int)).max()) for matrix in weights)


@pytest.mark.parametrize("kind", ["bert", "modern-bert"])
@pytest.mark.parametrize("form", ["native", "pylate"])
def test_rows_are_those_of_sentence_transformers(tmp_path: Path, kind: str, form: str) -> None:
    checkpoint = (save_native if form == "native" else save_pylate)(tmp_path, kind)
    expected = rows(SentenceTransformersEncoder(checkpoint))
    for int8, least in ((False, 0.9999), (True, 0.99)):
        difference = export_model(checkpoint, tmp_path / f"int8 {int8}", int8=int8)
        assert 0 < difference.largest < (0.1 if int8 else 1e-5)
        assert compare(expected, tmp_path / f"int8 {int8}", least) == ("", "")
    names = {path.name for path in (tmp_path / "int8 True").iterdir()}
    assert names == {"model_int8.onnx", "onnx_config.json", "tokenizer.json"}
    assert largest_weight(tmp_path / "int8 True" / "model_int8.onnx") * 255 * 2 < 1 << 15
    for changes, differs in (
        ({"prompts": {"query": "", "document": ""}, "query_prefix": "", "document_prefix": ""}, (True, True)),
        ({"do_query_expansion": False}, (True, False)),
        ({"skiplist_words": []}, (False, True)),
        ({"query_length": 23}, (True, False)),
        ({"document_length": 49}, (False, True)),
    ):
        other = tmp_path / "other"
        shutil.copytree(tmp_path / "int8 False", other)
        config = json.loads((other / "onnx_config.json").read_text())
        (other / "onnx_config.json").write_text(json.dumps({**config, **changes}))
        assert tuple(map(bool, compare(expected, other))) == differs, changes
        shutil.rmtree(other)


@pytest.mark.parametrize(
    "settings",
    [
        {"expansion": {"strategy": "min"}, "query_length": 40},
        {"expansion": {"attend": True}},
        {"expansion": {"token": "[PAD]"}},
        {"tasks": ["query", "document"]},
        {"tasks": ["query"]},
        {"do_lower_case": True},
        {"prompts": {"query": "search for: ", "document": ""}},
    ],
    ids=str,
)
def test_other_settings_of_sentence_transformers(tmp_path: Path, settings: dict[str, Any]) -> None:
    checkpoint = save_native(tmp_path, "modern-bert", **settings)
    export_model(checkpoint, tmp_path / "onnx")
    assert compare(rows(SentenceTransformersEncoder(checkpoint)), tmp_path / "onnx") == ("", "")


def test_a_model_that_differs_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = save_pylate(tmp_path, "bert")
    real = export.read_settings
    for wrong, sentence in (({"expansion": 0}, "another number of rows"), ({"attend": True}, "least cosine")):
        monkeypatch.setattr(export, "read_settings", lambda *files, wrong=wrong: replace(real(*files), **wrong))
        with pytest.raises(ValueError, match=sentence):
            export_model(checkpoint, tmp_path / "onnx")
        assert {path.name for path in tmp_path.iterdir()} == {"checkpoint"}


def test_what_is_not_exported(tmp_path: Path) -> None:
    plain = MODELS["bert"](tmp_path / "plain")
    with pytest.raises(ValueError, match="no late-interaction model"):
        export_model(plain, tmp_path / "onnx")
    with pytest.raises(FileExistsError, match="plain exists already"):
        export_model(plain, plain)

"""ColBERT models that pylate-onnx-export wrote, on onnxruntime: the rows are PyLate's."""

from __future__ import annotations

import json
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from colbert_export.export import export_model
from pylate import models

from maxsieve.text import ColbertEncoder
from text.random_models import DIM, MODELS, dense, rows_differ, texts

TEXTS = [*texts(200), "  white space before", "and after \n", " \t "]
SETTINGS = [{}, {"attend_to_expansion_tokens": True}, {"do_query_expansion": False}, {"query_prefix": "[unused0]"}]


@pytest.fixture(autouse=True)
def exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter that torch chooses by default needs a package which pylate-onnx-export does not ask for."""
    monkeypatch.setattr(torch.onnx, "export", partial(torch.onnx.export, dynamo=False))
    warnings.simplefilter("ignore")


def make(folder: Path, kind: str, **settings: Any) -> tuple[Any, Path]:
    """A checkpoint of PyLate and its export."""
    base = MODELS[kind](folder / "base", markers=True)  # PyLate itself would give both markers almost the same vector
    lengths = {"query_length": 24, "document_length": 50}
    model = models.ColBERT(str(base), embedding_size=DIM, device="cpu", **lengths, **settings)
    with torch.no_grad():
        model[1].linear.weight.copy_(dense())
    model.save(str(folder / "checkpoint"))
    export_model(str(folder / "checkpoint"), folder / "onnx", quantize=True, verbose=False)
    # The exporter loads the model without expansion, and writes that instead of what the checkpoint says.
    rewrite(folder / "onnx", do_query_expansion=model.do_query_expansion,
            attend_to_expansion_tokens=model.attend_to_expansion_tokens)  # fmt: skip
    return models.ColBERT(str(folder / "checkpoint"), device="cpu"), folder / "onnx"


def rewrite(folder: Path, **changes: Any) -> None:
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rows(model: Any) -> tuple[Any, Any]:
    """PyLate's rows of all texts as queries, and as documents."""
    queries, documents = (model.encode(TEXTS, is_query=asked, show_progress_bar=False) for asked in (True, False))
    return queries, documents


def compare(expected: tuple[Any, Any], encoder: ColbertEncoder, least: float) -> tuple[str, str]:
    """What differs in queries, and in documents."""
    queries, documents = expected
    return (
        rows_differ(queries, encoder.encode_queries(TEXTS), least),
        rows_differ(documents, encoder.encode_documents(TEXTS), least),
    )


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_rows_are_those_of_pylate(tmp_path: Path, kind: str, settings: dict[str, Any]) -> None:
    model, folder = make(tmp_path, kind, **settings)
    expected = rows(model)
    assert compare(expected, ColbertEncoder(folder / "model.onnx"), 0.9999) == ("", "")
    assert compare(expected, ColbertEncoder(folder / "model_int8.onnx"), 0.99) == ("", "")
    (folder / "config_sentence_transformers.json").rename(folder / "onnx_config.json")  # its name in later versions
    assert compare(expected, ColbertEncoder(folder / "model.onnx"), 0.9999) == ("", "")


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_check_fails_with_any_other_setting(tmp_path: Path, kind: str) -> None:
    model, folder = make(tmp_path, kind)
    expected = rows(model)
    for changes, differs in (
        ({"query_prefix": ""}, (True, False)),
        ({"document_prefix": ""}, (False, True)),
        ({"query_prefix": "[D] ", "query_prefix_id": model.document_prefix_id}, (True, False)),
        ({"do_query_expansion": False}, (True, False)),
        ({"attend_to_expansion_tokens": True}, (True, False)),
        ({"mask_token_id": 0}, (True, False)),
        ({"skiplist_words": []}, (False, True)),
        ({"query_length": 25}, (True, False)),
        ({"document_length": 49}, (False, True)),
    ):
        other = tmp_path / "other"
        shutil.copytree(folder, other)
        rewrite(other, **changes)
        found = compare(expected, ColbertEncoder(other / "model.onnx"), 0.9999)
        assert tuple(map(bool, found)) == differs, (changes, found)
        shutil.rmtree(other)


@pytest.mark.parametrize("kind", MODELS)
def test_a_graph_without_projection_takes_it_from_the_checkpoint(tmp_path: Path, kind: str) -> None:
    model, _ = make(tmp_path, kind)
    folder = tmp_path / "checkpoint"
    inner = model[0].auto_model

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    names = ["input_ids", "attention_mask"]
    (folder / "onnx").mkdir()
    torch.onnx.export(
        Hidden().eval(),
        (torch.ones(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)),
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]},
    )
    encoder = ColbertEncoder(folder)
    assert encoder.dim == DIM
    assert "1_Dense/model.safetensors" in encoder.fingerprint
    assert compare(rows(model), encoder, 0.9999) == ("", "")
    (folder / "1_Dense" / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"1_Dense/model\.safetensors is missing"):
        ColbertEncoder(folder)

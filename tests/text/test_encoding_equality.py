"""The same model in other ways: transformers, Sentence Transformers, and float32 compared with uint8."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import maxsieve as ms
from maxsieve.text import OnnxEncoder, SentenceTransformersEncoder, TruncationWarning

pytestmark = pytest.mark.full

RAGGED = [
    "A short one.",
    "",
    " \n\t",
    "Late interaction keeps a vector for every token of a text; a query's token is compared with all of a document's.",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 emoji \u2764\ufe0f",
    "naïve Ångström e\u0301 \u00df",
    "日本語のテキストと漢字",
    "Съешь ещё этих мягких французских булок",
    "مرحبا بالعالم שלום עולם",
    "नमस्ते दुनिया สวัสดีชาวโลก",
    "a\0b\u200bc\ufffdd",
    "x" * 200 + " " + "!" * 90,
    "[MASK] and [UNK] in a text",
]
VERY_LONG = " ".join(f"word{i}" for i in range(20_000))

FACTS = {
    "What splits a file name from its extension?": "os.path.splitext splits a path into root and extension.",
    "How do plants make sugar from light?": "Photosynthesis converts carbon dioxide and water into glucose.",
    "Which planet has the largest rings?": "Saturn is surrounded by a broad system of icy rings.",
    "Who wrote the play about the prince of Denmark?": "Hamlet is a tragedy by William Shakespeare.",
    "When do I need an umbrella?": "Rain is likely on Tuesday, so take something against the wet.",
    "How can two threads avoid writing at the same time?": "A mutex lets one thread at a time enter a section.",
    "What treats high blood pressure?": "ACE inhibitors are prescribed against hypertension.",
    "Where is the tallest mountain?": "Mount Everest stands in the Himalayas, between Nepal and Tibet.",
}


@pytest.fixture(scope="module")
def reference(minilm_fp32: Path) -> Any:
    """`transformers` as in its documentation: one padded batch, an attention mask."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_fp32)
    model = transformers.AutoModel.from_pretrained(minilm_fp32, dtype=torch.float32).eval()

    def encode(texts: list[str]) -> list[Any]:
        batch = tokenizer(
            texts, padding=True, truncation=True, max_length=512, return_tensors="pt", return_special_tokens_mask=True
        )
        own = batch.pop("special_tokens_mask") == 0
        with torch.inference_mode():
            rows = torch.nn.functional.normalize(model(**batch).last_hidden_state, dim=2)
        return [some[mask].numpy() for some, mask in zip(rows, own, strict=True)]

    return encode


@pytest.fixture(scope="module")
def exported(minilm_fp32: Path, tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    """The float32 model as ONNX, made by torch."""
    folder = tmp_path_factory.mktemp("exported")
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(minilm_fp32 / name, folder)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    model = transformers.AutoModel.from_pretrained(minilm_fp32, dtype=torch.float32, attn_implementation="eager")
    some = torch.ones(2, 7, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns about branches that depend on shapes
        torch.onnx.export(
            States(model.eval()),
            (some, some, some * 0),
            folder / "model.onnx",
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]},
            dynamo=False,
        )
    return OnnxEncoder(folder)


class States(torch.nn.Module):  # type: ignore[misc]
    """A model that returns only its hidden states."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        return self.model(input_ids, attention_mask, token_type_ids).last_hidden_state


def assert_same(some: list[Any], others: list[Any]) -> None:
    assert [rows.shape for rows in some] == [rows.shape for rows in others]
    for rows, other in zip(some, others, strict=True):
        np.testing.assert_allclose(rows, other, rtol=0, atol=2e-6)


def test_float32_onnx_equals_transformers(exported: OnnxEncoder, reference: Any) -> None:
    expected = reference(RAGGED)
    assert_same(exported.encode_documents(RAGGED), expected)
    assert_same(exported.encode_queries(RAGGED), expected)


def test_sentence_transformers_on_the_same_weights(minilm_fp32: Path, reference: Any) -> None:
    encoder = SentenceTransformersEncoder(minilm_fp32)
    expected = reference(RAGGED)
    assert_same(encoder.encode_documents(RAGGED), expected)
    assert_same(encoder.encode_queries(RAGGED), expected)


def test_very_long_text(exported: OnnxEncoder, minilm_fp32: Path, reference: Any) -> None:
    expected = reference([VERY_LONG])
    assert len(expected[0]) == 510
    for encoder in (exported, SentenceTransformersEncoder(minilm_fp32)):
        with pytest.warns(TruncationWarning, match=r"\b512\b"):
            assert_same(encoder.encode_documents([VERY_LONG]), expected)


def test_uint8_is_near_float32(minilm: OnnxEncoder, reference: Any) -> None:
    texts = [*FACTS, *FACTS.values(), *RAGGED]
    both = zip(minilm.encode_documents(texts), reference(texts), strict=True)
    cosines = np.concatenate([(rows * other).sum(axis=1) for rows, other in both])
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.9


def test_uint8_ranks_as_float32_does(minilm: OnnxEncoder, reference: Any) -> None:
    queries, documents = list(FACTS), list(FACTS.values())
    quantised = ms.maxsim(minilm.encode_queries(queries), minilm.encode_documents(documents))
    full = ms.maxsim(reference(queries), reference(documents))
    np.testing.assert_array_equal(full.argmax(axis=1), np.arange(len(FACTS)))
    np.testing.assert_array_equal(quantised.argmax(axis=1), np.arange(len(FACTS)))

"""ColBERT models on onnxruntime: markers, expansion, skip list, lengths, spans; no torch."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from maxsieve.text import ColbertEncoder, Collection, Encoder, OnnxEncoder, Traceable, TruncationWarning, load_encoder

from .tiny_colbert import CONFIG, DIM, STANFORD, TABLE, WORDS, expected, write_colbert


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def test_rows_of_queries_and_documents(tmp_path: Path) -> None:
    encoder = load_encoder(str(write_colbert(tmp_path)))
    assert isinstance(encoder, ColbertEncoder)
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, Traceable)
    assert (encoder.name, encoder.dim, encoder.max_tokens) == (str(tmp_path), DIM, 7)
    close(encoder.encode_queries([" One, two "])[0], expected("[CLS] [Q] one , two [SEP] [MASK] [MASK]", unseen=2))
    close(encoder.encode_documents(["One, two."])[0], expected("[CLS] [D] one , two . [SEP]", kept=[0, 1, 2, 4, 6]))
    close(encoder.encode_documents(["", "?"])[0], expected("[CLS] [D] [SEP]"))
    assert encoder.query_spans(" One, two ") == [(0, 0), (0, 0), (1, 4), (4, 5), (6, 9), (10, 10), (10, 10), (10, 10)]
    assert encoder.document_spans("One, two.") == [(0, 0), (0, 0), (0, 3), (5, 8), (9, 9)]


def test_long_texts_are_cut_and_that_is_said(tmp_path: Path) -> None:
    encoder = ColbertEncoder(write_colbert(tmp_path))
    long = "one two three " * 1000
    with pytest.warns(TruncationWarning, match=r"at 7 tokens; .* at least "):
        close(encoder.encode_documents([long])[0], expected("[CLS] [D] one two three one [SEP]"))
    with pytest.warns(TruncationWarning, match=r"at 8 tokens; .* has 9"):
        close(encoder.encode_queries(["one " * 6])[0], expected("[CLS] [Q] one one one one one [SEP]"))
    assert encoder.document_spans(long)[-2:] == [(14, 17), (len(long), len(long))]
    assert encoder.count_tokens(["one, twos"]) == [4]


@pytest.mark.parametrize(
    ("changes", "query", "unseen"),
    [
        ({"attend_to_expansion_tokens": True}, "[CLS] [Q] one [SEP] [MASK] [MASK] [MASK] [MASK]", 0),
        ({"do_query_expansion": False}, "[CLS] [Q] one [SEP]", 0),
        ({"expansion_length": 5}, "[CLS] [Q] one [SEP] [MASK]", 1),
        ({"query_prefix": ""}, "[CLS] one [SEP] [MASK] [MASK] [MASK] [MASK] [MASK]", 5),
        ({"mask_token_id": 0}, "[CLS] [Q] one [SEP] [PAD] [PAD] [PAD] [PAD]", 4),
        ({"prompts": {"query": "two ", "document": ""}}, "[CLS] [Q] two one [SEP] [MASK] [MASK] [MASK]", 3),
    ],
)
def test_settings_of_queries(tmp_path: Path, changes: dict[str, Any], query: str, unseen: int) -> None:
    encoder = ColbertEncoder(write_colbert(tmp_path, {**CONFIG, **changes}))
    close(encoder.encode_queries(["One"])[0], expected(query, unseen=unseen))
    assert (0, 3) in encoder.query_spans("One")
    assert len(encoder.query_spans("One")) == len(query.split())


@pytest.mark.filterwarnings("ignore::maxsieve.text.TruncationWarning")
def test_settings_of_documents(tmp_path: Path) -> None:
    def rows(folder: str, **changes: Any) -> Any:
        return ColbertEncoder(write_colbert(tmp_path / folder, {**CONFIG, **changes})).encode_documents(["Two, one"])[0]

    close(rows("no list", skiplist_words=[]), expected("[CLS] [D] two , one [SEP]"))
    close(rows("not a token", skiplist_words=["unknown"]), expected("[CLS] [D] two , one [SEP]"))
    close(rows("no marker", document_prefix=""), expected("[CLS] two , one [SEP]", kept=[0, 1, 3, 4]))
    close(rows("short", document_length=5), expected("[CLS] [D] two , [SEP]", kept=[0, 1, 2, 4]))


def test_stanford(tmp_path: Path) -> None:
    folder = write_colbert(tmp_path, None, output="contextual")
    (folder / "artifact.metadata").write_text(json.dumps(STANFORD))
    (folder / "tokenizer_config.json").write_text(json.dumps({"mask_token": {"content": "[MASK]"}}))
    encoder = ColbertEncoder(folder)
    close(encoder.encode_queries(["one"])[0], expected("[CLS] [Q] one [SEP] [MASK] [MASK] [MASK] [MASK]", unseen=4))
    close(encoder.encode_documents(["one."])[0], expected("[CLS] [D] one . [SEP]", kept=[0, 1, 2, 4]))


def write_sentence_transformers(folder: Path) -> Path:
    write_colbert(folder, None, output="last_hidden_state")
    kinds = {"": "Transformer", "1_Dense": "Dense", "2_MultiVectorMask": "MultiVectorMask", "3_Normalize": "Normalize"}
    layer = {"in_features": DIM, "out_features": 2, "bias": True, "use_residual": True,
             "activation_function": "torch.nn.modules.linear.Identity"}  # fmt: skip
    content: dict[str, Any] = {
        "modules.json": [{"path": path, "type": f"sentence_transformers.{kind}"} for path, kind in kinds.items()],
        "config_sentence_transformers.json": {
            "model_type": "MultiVectorEncoder",
            "prompts": {"query": "[Q] ", "document": "[D] "},
        },
        "sentence_bert_config.json": {
            "document_length": 7,
            "query_expansion": {"strategy": "fixed", "attend": False, "token": None, "length": 8},
        },
        "tokenizer_config.json": {"mask_token": "[MASK]"},
        "1_Dense/config.json": layer,
        "2_MultiVectorMask/config.json": {"skiplist_words": [",", "."], "skiplist_tasks": ["document"]},
    }
    for name, value in content.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    save_file(weights(), folder / "1_Dense" / "model.safetensors")
    return folder


def weights() -> dict[str, Any]:
    chance = np.random.default_rng(8)
    shapes = {"linear.weight": (2, DIM), "linear.bias": (2,), "residual.weight": (2, DIM)}
    return {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_sentence_transformers_with_separate_projection(tmp_path: Path) -> None:
    encoder = ColbertEncoder(write_sentence_transformers(tmp_path))
    assert encoder.dim == 2
    close(np.linalg.norm(encoder.encode_queries(["one"])[0], axis=1), 1)
    parts = weights()
    ids = [WORDS.index(word) for word in "[CLS] [D] one [SEP]".split()]  # noqa: SIM905

    rows = TABLE[ids]
    states = rows + rows.sum(axis=0) + np.cumsum(rows, axis=0) / 2
    wanted = states @ (parts["linear.weight"] + parts["residual.weight"]).T + parts["linear.bias"]
    close(encoder.encode_documents(["one"])[0], wanted / np.linalg.norm(wanted, axis=1, keepdims=True))
    assert "1_Dense/model.safetensors" in encoder.fingerprint


def test_a_plain_model_and_a_colbert_are_never_confused(tmp_path: Path) -> None:
    folder = write_colbert(tmp_path)
    with pytest.raises(ValueError, match=r"has a ColBERT model.*ColbertEncoder runs it"):
        OnnxEncoder(folder)
    (folder / "onnx_config.json").unlink()
    assert type(load_encoder(str(folder))) is OnnxEncoder
    with pytest.raises(ValueError, match="OnnxEncoder"):
        ColbertEncoder(folder)
    for name, content in (
        ("config.json", {"architectures": ["HF_ColBERT"]}),
        ("config_sentence_transformers.json", {"model_type": "ColBERT"}),
        ("config_sentence_transformers.json", {"query_prefix": "[Q]"}),
        ("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder"}),
        ("artifact.metadata", {}),
        ("modules.json", [{"type": "pylate.models.Dense.Dense", "path": "1_Dense"}]),
    ):
        (folder / name).write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"has a ColBERT model"):
            OnnxEncoder(folder)
        with pytest.raises(ValueError, match=r"does not state|no file that says how|must have"):
            load_encoder(str(folder))
        (folder / name).unlink()


def test_one_of_several_files(tmp_path: Path) -> None:
    folder = write_colbert(tmp_path)
    (folder / "onnx").mkdir()
    for name in ("model_int8.onnx", "onnx/model_quantized.onnx"):
        (folder / name).write_bytes((folder / "model.onnx").read_bytes())
        encoder = load_encoder(str(folder / name))
        assert encoder.name == str(folder / name)
        assert name in encoder.fingerprint
        assert load_encoder(encoder.name).fingerprint == encoder.fingerprint
    assert load_encoder(str(folder)).name == str(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(FileNotFoundError, match=r"model_int8\.onnx, onnx/model_quantized\.onnx; give the path of one"):
        load_encoder(str(folder))


def test_the_fingerprint_has_every_setting(tmp_path: Path) -> None:
    plain = ColbertEncoder(write_colbert(tmp_path / "plain")).fingerprint
    for number, changes in enumerate(
        [
            {"query_prefix": "[D]"},
            {"document_prefix": ""},
            {"query_length": 9},
            {"document_length": 9},
            {"do_query_expansion": False},
            {"attend_to_expansion_tokens": True},
            {"skiplist_words": ["."]},
            {"mask_token_id": 0},
            {"do_lower_case": True},
            {"prompts": {"query": "", "document": ""}},
        ]
    ):
        other = ColbertEncoder(write_colbert(tmp_path / str(number), {**CONFIG, **changes})).fingerprint
        assert other.keys() == plain.keys()
        assert other != plain, changes


def test_pickling_and_neighbours(tmp_path: Path) -> None:
    encoder = ColbertEncoder(write_colbert(tmp_path), threads=2)
    again = pickle.loads(pickle.dumps(encoder))
    texts = ["one", "two, three", "", "one two three"]
    for some, same in zip(
        encoder.encode_documents(texts), [again.encode_documents([text])[0] for text in texts], strict=True
    ):
        np.testing.assert_array_equal(some, same)


def test_a_collection_explains_and_splits(tmp_path: Path) -> None:
    encoder = ColbertEncoder(write_colbert(tmp_path / "model", {**CONFIG, "document_length": 24}))
    with Collection.create(tmp_path / "c", encoder, dim=None) as collection:
        collection.add(["one two. " * 20, "three threes"], ["long", "short"])
        assert collection.info()["documents"] == 2
        hits = collection.search("two", k=2)
        assert hits.passages[hits.ids.index("long")].of > 1
        for rank in range(2):
            words = hits.explain(rank)
            assert any(word.query == "two" for word in words)
            text = hits.passages[rank].text
            assert all(text[word.start : word.end] == word.document for word in words)


def test_nothing_of_torch_is_imported(tmp_path: Path) -> None:
    script = """
import sys
from maxsieve.text import load_encoder
encoder = load_encoder(sys.argv[1])
assert len(encoder.encode_queries(["one"])[0]) == 8 and encoder.encode_documents(["two"]) and encoder.fingerprint
loaded = {"torch", "transformers", "sentence_transformers", "safetensors"} & set(sys.modules)
assert not loaded, loaded
"""
    command = [sys.executable, "-c", script, str(write_colbert(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

"""ONNX models of a few numbers, made here: the state of a token is a row of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "one", "two", "three", "zero", "##s"]
TABLE = np.random.default_rng(5).standard_normal((len(WORDS), 4)).astype(np.float32)
TABLE[WORDS.index("zero")] = 0


def row(word: str) -> np.ndarray[Any, Any]:
    """The unit vector of a word, zero for "zero"."""
    vector = TABLE[WORDS.index(word)]
    return vector / (np.linalg.norm(vector) or 1)


def write_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer that truncates to 3 tokens and pads to 9, unless it is told otherwise, like MiniLM's."""
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(WORDS[:5])
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(
    path: Path,
    *,
    inputs: tuple[str, ...] = ("input_ids",),
    outputs: tuple[str, ...] = ("last_hidden_state",),
    integers: int = TensorProto.INT64,
    floats: int = TensorProto.FLOAT,
    dim: int | str = 4,
    flat: bool = False,
    external: bool = False,
) -> None:
    """A model with these inputs, of which only the first matters, and these outputs, all equal."""
    table = numpy_helper.from_array(TABLE, "table")
    nodes = [helper.make_node("Gather", ["table", inputs[0]], ["rows"])]
    nodes += [helper.make_node("ReduceMean", ["rows"], ["shaped"], axes=[1], keepdims=0)] if flat else []
    for output in outputs:
        nodes.append(helper.make_node("Cast", ["shaped" if flat else "rows"], [output], to=floats))
    shape = ["batch", dim] if flat else ["batch", "tokens", dim]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, integers, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(name, floats, shape) for name in outputs],
        [table],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    kept_beside = {"location": f"{path.name}_data", "size_threshold": 0} if external else {}
    onnx.save_model(model, path, save_as_external_data=external, **kept_beside)


def write_folder(folder: Path, config: dict[str, Any] | None = None, **model: Any) -> Path:
    """A folder that `OnnxEncoder` can open."""
    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    write_model(folder / "model.onnx", **model)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder

"""A ColBERT model of a few numbers, without torch: a row depends on its token, on those before it, and on the mask."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q]", "[D]"]
WORDS = [*SPECIAL, *string.punctuation, "one", "two", "three", "##s"]
DIM = 6
TABLE = np.random.default_rng(5).standard_normal((len(WORDS), DIM)).astype(np.float32)
CONFIG: dict[str, Any] = {
    "model_type": "ColBERT",
    "query_prefix": "[Q]",
    "document_prefix": "[D]",
    "query_length": 8,
    "document_length": 7,
    "do_query_expansion": True,
    "attend_to_expansion_tokens": False,
    "skiplist_words": list(string.punctuation),
    "embedding_dim": DIM,
    "mask_token_id": 4,
}
STANFORD: dict[str, Any] = {
    "query_token_id": "[Q]",
    "doc_token_id": "[D]",
    "query_maxlen": 8,
    "doc_maxlen": 7,
    "attend_to_mask_tokens": False,
    "mask_punctuation": True,
    "dim": DIM,
}


def expected(words: str, *, unseen: int = 0, kept: Sequence[int] | None = None) -> NDArray[np.float32]:
    """The rows of these tokens, of which the last `unseen` are not attended to; `kept` says which."""
    rows = TABLE[[WORDS.index(word) for word in words.split()]]
    seen = rows * (np.arange(len(rows)) < len(rows) - unseen)[:, None]
    states = rows + seen.sum(axis=0) + np.cumsum(seen, axis=0) / 2
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states if kept is None else states[list(kept)], np.float32)


def write_colbert(folder: Path, config: dict[str, Any] | None = CONFIG, output: str = "output") -> Path:
    """A folder that `ColbertEncoder` can open; its configuration is that of pylate-onnx-export."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(folder / "tokenizer.json"))
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "middle"], ["all"]),
        helper.make_node("CumSum", ["seen", "axis"], ["before"]),
        helper.make_node("Mul", ["before", "half"], ["part"]),
        helper.make_node("Add", ["rows", "all"], ["sum"]),
        helper.make_node("Add", ["sum", "part"], [output]),
    ]
    constants = {
        "table": TABLE,
        "last": np.array([2]),
        "middle": np.array([1]),
        "axis": np.array(1),
        "half": np.array(0.5, np.float32),
    }
    names = ["input_ids", "attention_mask"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "tokens", DIM])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save_model(model, folder / "model.onnx")
    if config is not None:
        (folder / "onnx_config.json").write_text(json.dumps(config))
    return folder

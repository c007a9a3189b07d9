"""A model that takes no time: the vector of a word piece is a row of a table."""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "red green blue fox owl tea coffee bread river mountain path extension split".split()  # noqa: SIM905
LETTERS = string.ascii_lowercase + string.digits
PIECES = [*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *string.punctuation]
DIM = 16
MAX_TOKENS = 512


def write_tiny_model(folder: Path) -> None:
    """Writes model.onnx, tokenizer.json and config.json into a folder."""
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(1).standard_normal((len(PIECES), DIM)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIM])],
        [numpy_helper.from_array(table, "table")],
    )
    onnx.save_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "model.onnx"
    )
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": MAX_TOKENS}))

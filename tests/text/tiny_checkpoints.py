"""Multi-vector checkpoints of a few thousand random numbers, in the forms of real ones, saved to disk."""

from __future__ import annotations

import json
import string
from pathlib import Path

import torch
from safetensors.torch import save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
WORDS = [*SPECIAL, *string.punctuation, *["the", "cat", "dog", "sat", "on", "mat", "what", "where", "is"], "##s"]
HIDDEN, DIM = 16, 8


def tokenizer() -> PreTrainedTokenizerFast:
    """Lower-case word pieces between [CLS] and [SEP]."""
    pieces = Tokenizer(WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    pieces.normalizer = BertNormalizer()
    pieces.pre_tokenizer = BertPreTokenizer()
    pieces.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    named = dict(zip(names, SPECIAL, strict=False))
    return PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=32, **named)


def bert() -> BertModel:
    """Two random layers."""
    torch.manual_seed(11)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
    )
    return BertModel(config).eval()


def save_plain(folder: Path) -> Path:
    """A model that was not trained for late interaction."""
    bert().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def save_native(folder: Path, plain: Path) -> Path:
    """In the form of Sentence Transformers: prompts, query expansion, a skip list, a document length."""
    torch.manual_seed(12)
    expansion = {"strategy": "fixed", "attend": False, "length": 12}
    modules = [
        Transformer(str(plain), query_expansion=expansion, document_length=10),
        Dense(HIDDEN, DIM, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings"),
        MultiVectorMask([".", ","]),
        Normalize(module_input_name="token_embeddings"),
    ]
    modules[0].tokenizer.add_special_tokens({"additional_special_tokens": ["[unused0]", "[unused1]"]})
    prompts = {"query": "[unused0] ", "document": "[unused1] "}
    MultiVectorEncoder(modules=modules, prompts=prompts, device="cpu").save(str(folder))
    return folder


def save_stanford(folder: Path) -> Path:
    """In the published form of ColBERTv2: the projection among BERT's weights, the rest in artifact.metadata."""
    model = bert()
    torch.manual_seed(13)
    weights = {f"bert.{name}": value.contiguous() for name, value in model.state_dict().items()}
    folder.mkdir()
    save_file({**weights, "linear.weight": torch.randn(DIM, HIDDEN)}, folder / "model.safetensors", {"format": "pt"})
    config = {**model.config.to_dict(), "architectures": ["HF_ColBERT"]}
    (folder / "config.json").write_text(json.dumps(config))
    settings = {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "query_maxlen": 9,
        "doc_maxlen": 11,
        "attend_to_mask_tokens": False,
        "mask_punctuation": True,
    }
    (folder / "artifact.metadata").write_text(json.dumps(settings))
    tokenizer().save_pretrained(folder)
    return folder

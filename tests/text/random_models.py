"""BERT and ModernBERT with random weights and trained tokenizers, and 200 texts of all kinds. Needs torch."""

from __future__ import annotations

import random
import string
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
F32 = NDArray[np.float32]
HIDDEN, DIM = 64, 24
MARKERS = ["[Q] ", "[D] "]
"""As PyLate calls them, with a space at the end."""

_WORDS = """
late interaction search finds the best token of a document for each token of the query and adds their similarities
Paris is the capital of France Whisky Jack NASA ISO-9001 e-mail don't can't 3.14 1,000 2026 C++ naïve Ångström façade
""".split()  # noqa: SIM905
_OTHERS = [
    "日本語のテキスト。",
    "العربية، عبرית",
    "नमस्ते दुनिया!",
    "สวัสดีชาวโลก",
    "Ελληνικά; Привет, мир",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 emoji \u2764\ufe0f",
    "",
    "?",
    "!!! ... ,,, ;;; --- ((()))",
    "ALL CAPITALS ARE HERE.",
    "x" * 400,
    "a\u0301 e\u0308 combining",
    "tab\tand\nline\r\nbreaks",
    'code: if (x[0] == "y") { return a->b * 2; } // done',
]


def texts(count: int = 200) -> list[str]:
    """Texts with punctuation, capitals, other scripts and emoji, some empty and some very long; the same each time."""
    chance = random.Random(26)
    made = list(_OTHERS)
    while len(made) < count:
        size = chance.choice([1, 3, 8, 20, 60, 400])
        words = [chance.choice(_WORDS) + chance.choice(["", "", "", ",", ".", "!", ":"]) for _ in range(size)]
        made.append(" ".join([*words, *chance.sample(_OTHERS, chance.choice([0, 0, 1]))]).strip())
    return made


def save_bert(folder: Path, *, markers: bool = False) -> Path:
    """Lower-case word pieces and two layers."""
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.train_from_iterator(
        texts(), trainers.WordPieceTrainer(vocab_size=500, special_tokens=[*SPECIAL, *string.punctuation])
    )
    config = BertConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=128,
        initializer_range=0.1,
    )
    return _save(folder, pieces, config, BertModel, markers, ["token_type_ids"])


def save_modern_bert(folder: Path, *, markers: bool = False) -> Path:
    """Pieces of bytes, capitals kept, and three layers, of which two see only their neighbours."""
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pieces.train_from_iterator(
        texts(), trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    config = ModernBertConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=256,
        local_attention=16,
        initializer_range=0.1,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
    )
    return _save(folder, pieces, config, ModernBertModel, markers, [])


MODELS = {"bert": save_bert, "modern-bert": save_modern_bert}


def rows_differ(expected: list[F32], found: list[F32], least: float = 0.9999) -> str:
    """A sentence about the first text whose rows differ in number, or in value; empty if there is none."""
    for place, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one.shape != other.shape:
            return f"text {place} has rows {other.shape}, not {one.shape}"
        if len(one) and not (cosine := float((one * other).sum(axis=1).min())) >= least:
            return f"text {place} has a row with cosine {cosine}"
    return ""


def dense(seed: int = 3) -> torch.Tensor:
    """Random weights of a projection."""
    return torch.randn(DIM, HIDDEN, generator=torch.Generator().manual_seed(seed)) / 8


def _save(folder: Path, pieces: Tokenizer, config: object, kind: type, markers: bool, inputs: list[str]) -> Path:
    pieces.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        model_max_length=120,
        model_input_names=["input_ids", "attention_mask", *inputs],
        **dict(zip(names, SPECIAL, strict=False)),
    )
    if markers:
        tokenizer.add_tokens([AddedToken(marker) for marker in MARKERS])
    config.vocab_size = len(tokenizer)  # type: ignore[attr-defined]
    torch.manual_seed(11)
    kind(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

"""A long text costs only what is indexed of it: the tokenizer gets no more than it needs, with the same result."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from long_form import scaled
from maxsieve.text import OnnxEncoder, TruncationWarning
from maxsieve.text.encoders.onnx_files import open_tokenizer
from maxsieve.text.encoders.truncation import CHARACTERS_PER_TOKEN, Truncation

MAX_TOKENS = 24
CASES = scaled(40)
WORDS = [
    "fox",
    "grapes",
    "naïve",
    "Ångström",
    "e\u0301a\u0300",
    "日本語",
    "東京",
    "don't",
    "x-y",
    "1,000.5",
    "🦊",
    "👨\u200d👩",
]
SPACES = [" ", "\n", "\t", "  ", "\u00a0", "\u3000", "\r\n", " \u0301", "\u200b ", " " * 40]


class Counting:
    """A tokenizer that records how much it was given."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.lengths = inner, list[int]()

    def encode(self, text: str) -> Any:
        self.lengths.append(len(text))
        return self.inner.encode(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def tokenizer(kind: str) -> tokenizers.Tokenizer:
    corpus = [" ".join(WORDS)] * 20
    special = ["[UNK]", "[CLS]", "[SEP]"]
    if kind == "wordpiece":
        made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special)
    elif kind == "bytes":
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special)
    elif kind == "unigram":
        made = tokenizers.Tokenizer(models.Unigram())
        made.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")]
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=100, special_tokens=special, unk_token="[UNK]")
    else:
        made = tokenizers.Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special)
    made.train_from_iterator(corpus, trainer)
    made.add_special_tokens(special)
    made.add_tokens([tokenizers.AddedToken("fox and grapes", lstrip=True)])
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made


def random_text(rng: random.Random) -> str:
    pieces = []
    for _ in range(rng.randrange(1, 200)):
        kind = rng.randrange(40)
        if kind == 0:
            pieces.append(rng.choice("ab日🦊.") * rng.randrange(1, 3000))
        elif kind == 1:
            pieces.append(rng.choice(SPACES) * rng.randrange(1, 2000))
        elif kind == 2:
            pieces.append("fox and grapes")
        else:
            pieces.append(rng.choice([*WORDS, rng.choice(string.printable), "[SEP]"]))
        pieces.append(rng.choice(["", *SPACES]))
    return "".join(pieces)


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram", "no pre-tokenizer"])
def test_the_same_tokens_and_spans_as_without_the_cut(tmp_path: Path, kind: str) -> None:
    tokenizer(kind).save(str(tmp_path / "tokenizer.json"))
    plain = open_tokenizer(tmp_path / "tokenizer.json", MAX_TOKENS)
    cutting = Truncation(Counting(plain), MAX_TOKENS)
    rng = random.Random(7)
    shorter = 0
    for case in range(CASES):
        text = random_text(rng)
        whole, cut = plain.encode(text), cutting.encode(text)
        assert cut.encoding.ids == whole.ids, (case, text)
        assert cut.encoding.offsets == whole.offsets, (case, text)
        assert cut.encoding.special_tokens_mask == whole.special_tokens_mask
        length = len(whole.ids) + sum(len(rest.ids) - 2 for rest in whole.overflowing)
        assert cut.length <= length
        assert cut.exact == (cut.length == length) or cut.length == length
        assert cut.exact or cut.length > MAX_TOKENS, "what was cut is known to be long"
        shorter += not cut.exact
    assert shorter > CASES // 5 or kind == "no pre-tokenizer"


def test_the_tokenizer_sees_a_few_characters_for_each_token(minilm: OnnxEncoder) -> None:
    counting = Counting(minilm._tokens.tokenizer)
    cutting = Truncation(counting, minilm.max_tokens)
    text = "the line brown fox, it jumps. " * 100_000
    cut = cutting.encode(text)
    assert len(cut.encoding.ids) == 512
    assert sum(counting.lengths) <= CHARACTERS_PER_TOKEN * 512
    counting.lengths.clear()
    spaces = " " * 1_000_000 + "fox"
    assert len(cutting.encode(spaces).encoding.ids) == 3, "what stands behind a long run of spaces is found"
    assert sum(counting.lengths) <= 3 * len(spaces)


def test_rows_spans_and_the_warning(minilm: OnnxEncoder) -> None:
    text = "the line brown fox, it jumps. " * 3000
    with pytest.warns(TruncationWarning, match=r"\b1\b.*\b1\b.*\b512\b.* at least \d+"):
        [rows] = minilm.encode_documents([text])
    with pytest.warns(TruncationWarning, match=r"\b512\b.*longest has \d+$"):
        [expected] = minilm.encode_documents([text[:8000]])
    np.testing.assert_array_equal(rows, expected)
    assert minilm.document_spans(text) == minilm.document_spans(text[:8000])
    assert minilm.query_spans(text) == minilm.document_spans(text[:8000])
